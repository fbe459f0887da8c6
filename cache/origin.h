// Which machine trials and winners were measured on. The rest of their provenance stands in their own rows.
//
// A table of its own, made by the first writer that has something to say: files without it are read as well,
// and their machines are not known.
#ifndef GT_CACHE_ORIGIN_H
#define GT_CACHE_ORIGIN_H

#include "cache/query.h"

typedef enum { GT_ORIGIN_TRIAL, GT_ORIGIN_WINNER } gt_origin_of;

// Within a transaction. An empty host forgets what was there.
gt_status gt_origin_put(gt_cache *cache, gt_origin_of of, int64_t device, int64_t problem,
                        const char *configuration, const char *host, gt_error *error);

// Reads GT_DEVICE_COLUMNS of the row into record->device; the ids of device and problem.
void gt_origin_read_device(gt_query *query, gt_record *record, int64_t *device_id, int64_t *problem_id);
// Reads GT_DEVICE_COLUMNS of the row, the last ones of a statement, and finds the host. Fills device and
// host.
gt_status gt_origin_read(gt_query *query, gt_origin_of of, const char *configuration, gt_record *record,
                         gt_error *error);

void gt_host(char host[GT_HOST_SIZE]); // the name of this machine

#endif
