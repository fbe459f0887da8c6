// Texts that come from files, compilers and drivers: whether they are UTF-8, which JSON and SQLite take them
// for, and one line, which messages are.
#ifndef GT_BASE_UTF8_H
#define GT_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

// Bytes of the character that a text begins with, as RFC 3629 has it: 1 to 4. 0 at the text's end, and where
// there is no character.
size_t gt_utf8_character(const char *text);

bool gt_is_utf8(const char *text);

// Makes a text UTF-8: bytes that are no character become question marks.
void gt_utf8_repair(char *text);

// Makes a text one line of UTF-8 that commands nothing to a terminal: control characters
// become spaces, too.
void gt_utf8_make_line(char *text);

#endif
