// What is done with a tuning cache that comes from anyone, for the harnesses that make one: everything that
// reads it, a merge into it, and a collection of its garbage. Whatever fails must leave it as it was.
#ifndef GT_TESTS_FUZZ_DATABASE_H
#define GT_TESTS_FUZZ_DATABASE_H

#include "cache/cache.h"
#include "exchange/collection.h"
#include "tests/fuzz/fuzz.h"

// A cache with four problems of two operators, their trials and winners with code objects, a recheck and a
// quarantined trial, all of fuzz_device(). Made anew at the path.
void fuzz_make_database(const char *path);

// The problem that the harnesses look up, which it has a winner of.
gt_problem fuzz_problem(int n, const char *dtype);

// Uses the cache at the path in one of several ways, which its bytes decide (or in all of them:
// fuzz_thorough), and fails when a file is changed that is not to be, or a refusal is not told.
void fuzz_use_database(const char *path);

#endif
