#ifndef GT_BASE_VERSION_H
#define GT_BASE_VERSION_H

#define GT_VERSION "0.1.0"

#endif
