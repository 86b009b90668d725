// See rendezvous/store.h.
#pragma once
