// What every forked child does first.
#pragma once

#include <sys/types.h>

namespace tutti {

/// Makes the calling process die with the one that forked it, whose id was `parent` before the
/// fork; ends it at once, with exit code 1, if that has died already. The parent's forking thread
/// must outlive the child, or the kernel takes its end for the parent's.
void die_with_parent(pid_t parent);

}  // namespace tutti
