// A clock that only goes forward.
#ifndef GT_BASE_CLOCK_H
#define GT_BASE_CLOCK_H

double gt_seconds(void);

#endif
