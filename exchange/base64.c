#include "exchange/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void gt_base64_print(const void *data, size_t size, gt_buffer *text) {
  const unsigned char *bytes = data;
  for (size_t i = 0; i < size; i += 3) {
    size_t left = size - i < 3 ? size - i : 3;
    uint32_t group = (uint32_t)bytes[i] << 16;
    if (left > 1) group |= (uint32_t)bytes[i + 1] << 8;
    if (left > 2) group |= bytes[i + 2];
    char four[4];
    for (size_t k = 0; k < 4; k++) four[k] = k <= left ? digits[group >> (18 - 6 * k) & 63] : '=';
    gt_buffer_append(text, four, sizeof four);
  }
}

static int value(char digit) {
  const char *found = digit ? strchr(digits, digit) : NULL;
  return found ? (int)(found - digits) : -1;
}

bool gt_base64_parse(const char *text, size_t length, gt_buffer *data) {
  if (length % 4 != 0) return false;
  for (size_t i = 0; i < length; i += 4) {
    bool last = i + 4 == length;
    size_t bytes = last && text[i + 3] == '=' ? text[i + 2] == '=' ? 1 : 2 : 3;
    uint32_t group = 0;
    for (size_t k = 0; k < 4; k++) {
      int digit = k <= bytes ? value(text[i + k]) : 0;
      if (digit < 0) return false;
      group = group << 6 | (uint32_t)digit;
    }
    if (bytes < 3 && (group & (bytes == 1 ? 0xffff : 0xff)) != 0) return false; // bits that mean nothing
    char three[3] = {(char)(group >> 16), (char)(group >> 8), (char)group};
    gt_buffer_append(data, three, bytes);
  }
  return true;
}
