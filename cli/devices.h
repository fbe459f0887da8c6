// What a back end has to say of itself.
#ifndef GT_CLI_DEVICES_H
#define GT_CLI_DEVICES_H

#include <jansson.h>

// Asks a back end in a process of its own: {"backend": ..., "devices": [{"name": "hip:0", "fingerprint":
// {...}} or {"name": ..., "error": ...}], "reason": why it has none}. A new reference.
json_t *gt_devices_ask(const char *backend);

#endif
