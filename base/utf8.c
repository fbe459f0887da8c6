#include "base/utf8.h"

static bool continues(char byte) {
  return ((unsigned char)byte & 0xc0) == 0x80;
}

size_t gt_utf8_character(const char *text) {
  unsigned char first = (unsigned char)text[0];
  if (first == 0) return 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0; // a continuation, or nothing that could not be written shorter
  size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (size_t i = 1; i < length; i++)
    if (!continues(text[i])) return 0; // the end, too
  unsigned char second = (unsigned char)text[1];
  bool too_long = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool surrogate = first == 0xed && second > 0x9f, too_large = first == 0xf4 && second > 0x8f;
  return too_long || surrogate || too_large ? 0 : length;
}

bool gt_is_utf8(const char *text) {
  while (*text) {
    size_t length = gt_utf8_character(text);
    if (length == 0) return false;
    text += length;
  }
  return true;
}

void gt_utf8_repair(char *text) {
  while (*text) {
    size_t length = gt_utf8_character(text);
    if (length == 0) *text = '?';
    text += length ? length : 1;
  }
}

void gt_utf8_make_line(char *text) {
  gt_utf8_repair(text);
  for (size_t length; *text; text += length) {
    unsigned char first = (unsigned char)text[0];
    bool control = first < ' ' || first == 127 || (first == 0xc2 && (unsigned char)text[1] < 0xa0);
    length = gt_utf8_character(text);
    for (size_t i = 0; control && i < length; i++) text[i] = ' ';
  }
}
