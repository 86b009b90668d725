// What errors are made of: quoted words, shortened paths, the word that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tutti {

/// The text in quotes, cut to 60 bytes and without control characters: safe to show, whatever
/// a hostile file holds.
std::string quote(std::string_view text);

/// The same without quotes.
std::string shown(std::string_view text);

/// A path, of which only the end is kept if it is long.
std::string shown_path(std::string_view path);

/// The candidate that resembles the word, or empty if none does. Cost: the word's length (cut to
/// twice the candidate's) times all candidates' lengths.
std::string_view nearest_word(std::string_view word, const std::vector<std::string_view>& valid);

/// "the nearest valid one is 'hosts' (all: shape, hosts)" or "expected shape, hosts"; of many
/// candidates only the first `most` are listed.
std::string hint_for(std::string_view word, const std::vector<std::string_view>& valid,
                     std::size_t most = 24);

/// ", did you mean 'hosts'?", or nothing if none resembles the word.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& valid);

/// Whether the text equals the pattern, in which each * stands for any number of characters.
bool matches_pattern(std::string_view text, std::string_view pattern);

}  // namespace tutti
