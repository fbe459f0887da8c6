-- The tuning cache, version 3. Run once, inside a transaction, on an empty file; migrate.c makes it of an older version's file.
-- Every row says where it came from, so that a winner can be traced to the trials, the device and the software behind it.
-- application_id is "Gthr" in ASCII; store.h names both numbers.
PRAGMA application_id = 1198811250;
PRAGMA user_version = 3;

-- What configurations are tuned for: one GPU model, of which a machine may have several devices.
CREATE TABLE model (
  id INTEGER PRIMARY KEY,
  backend TEXT NOT NULL CHECK (backend <> ''),
  name TEXT NOT NULL,
  arch TEXT NOT NULL,
  compute_units INTEGER NOT NULL CHECK (compute_units >= 0),
  UNIQUE (backend, name, arch, compute_units)
) STRICT;

-- One device with the software that drove it. Other software is another row: what it measured or crashed on says nothing
-- certain about the new one.
CREATE TABLE device (
  id INTEGER PRIMARY KEY,
  model INTEGER NOT NULL REFERENCES model (id),
  pci_id TEXT NOT NULL,
  memory_bytes INTEGER NOT NULL CHECK (memory_bytes >= 0),
  driver TEXT NOT NULL,
  runtime TEXT NOT NULL,
  compiler TEXT NOT NULL,
  UNIQUE (model, pci_id, memory_bytes, driver, runtime, compiler),
  UNIQUE (id, model) -- what the foreign key of winner needs
) STRICT;

-- Problems of one kernel text render to the same kernels. They differ in the outer count, and in the sampling positions that they are
-- tuned for (`grid`, which ends their text).
CREATE TABLE problem (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE CHECK (text <> ''),
  kernel TEXT NOT NULL,
  outer_count INTEGER NOT NULL CHECK (outer_count >= 0),
  operator TEXT NOT NULL,
  dtype TEXT NOT NULL
) STRICT;
CREATE INDEX problem_by_kernel ON problem (kernel, outer_count);

CREATE TABLE trial (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device (id),
  problem INTEGER NOT NULL REFERENCES problem (id),
  configuration TEXT NOT NULL CHECK (configuration <> ''),
  source_hash TEXT NOT NULL CHECK (length(source_hash) IN (0, 32)),
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'compile_error', 'launch_error', 'wrong_result', 'unstable_result',
                                           'out_of_bounds', 'out_of_memory', 'crash', 'timeout')),
  message TEXT NOT NULL,
  samples_us TEXT NOT NULL CHECK (substr(samples_us, 1, 1) = '['), -- a JSON array of numbers
  median_us REAL NOT NULL CHECK (median_us >= 0),
  spread_us REAL NOT NULL CHECK (spread_us >= 0),
  checked INTEGER NOT NULL CHECK (checked IN (0, 1)),
  compile_ms REAL NOT NULL CHECK (compile_ms >= 0),
  registers INTEGER NOT NULL CHECK (registers >= -1), -- -1: unknown, as in the next two
  lds_bytes INTEGER NOT NULL CHECK (lds_bytes >= -1),
  scratch_bytes INTEGER NOT NULL CHECK (scratch_bytes >= -1),
  tried_at TEXT NOT NULL, -- UTC, ISO 8601
  noisy INTEGER NOT NULL DEFAULT 0 CHECK (noisy IN (0, 1)), -- timing ended before the samples were steady
  temperature_c INTEGER NOT NULL DEFAULT 0 CHECK (temperature_c >= 0), -- right after timing; 0: unknown, as in the next two
  clock_mhz INTEGER NOT NULL DEFAULT 0 CHECK (clock_mhz >= 0),
  memory_clock_mhz INTEGER NOT NULL DEFAULT 0 CHECK (memory_clock_mhz >= 0),
  UNIQUE (device, problem, configuration)
) STRICT;

CREATE INDEX trial_in_quarantine ON trial (device, source_hash) WHERE outcome IN ('crash', 'timeout');

-- Code objects by the hash of their bytes; one may serve the winners of many problems.
CREATE TABLE code (
  hash TEXT PRIMARY KEY NOT NULL CHECK (length(hash) = 32),
  blob BLOB NOT NULL,
  size INTEGER NOT NULL CHECK (size > 0 AND size = length(blob))
) STRICT;

CREATE TABLE winner (
  id INTEGER PRIMARY KEY,
  model INTEGER NOT NULL REFERENCES model (id),
  problem INTEGER NOT NULL REFERENCES problem (id),
  device INTEGER NOT NULL, -- that it was tuned on
  variant TEXT NOT NULL CHECK (substr(variant, 1, 1) = '{'), -- a JSON object
  median_us REAL NOT NULL CHECK (median_us >= 0),
  spread_us REAL NOT NULL CHECK (spread_us >= 0),
  default_us REAL NOT NULL CHECK (default_us >= 0), -- 0: not timed, as in the next one
  stream_us REAL NOT NULL CHECK (stream_us >= 0),
  compiler TEXT NOT NULL,
  driver TEXT NOT NULL,
  code TEXT REFERENCES code (hash), -- NULL: the configuration alone is known
  tuned_at TEXT NOT NULL, -- UTC, ISO 8601
  ties TEXT NOT NULL DEFAULT '[]' CHECK (substr(ties, 1, 1) = '['), -- a JSON array: what was as fast, the winner among them
  UNIQUE (model, problem),
  FOREIGN KEY (device, model) REFERENCES device (id, model)
) STRICT;
CREATE INDEX winner_by_code ON winner (code);

-- Beside a winner whose results are not the same bits in every run: the best whose are.
CREATE TABLE deterministic (
  id INTEGER PRIMARY KEY,
  model INTEGER NOT NULL REFERENCES model (id),
  problem INTEGER NOT NULL REFERENCES problem (id),
  device INTEGER NOT NULL, -- that it was tuned on
  variant TEXT NOT NULL CHECK (substr(variant, 1, 1) = '{'), -- a JSON object
  median_us REAL NOT NULL CHECK (median_us >= 0),
  spread_us REAL NOT NULL CHECK (spread_us >= 0),
  default_us REAL NOT NULL CHECK (default_us >= 0), -- 0: not timed, as in the next one
  stream_us REAL NOT NULL CHECK (stream_us >= 0),
  compiler TEXT NOT NULL,
  driver TEXT NOT NULL,
  code TEXT REFERENCES code (hash), -- NULL: the configuration alone is known
  tuned_at TEXT NOT NULL, -- UTC, ISO 8601
  ties TEXT NOT NULL CHECK (substr(ties, 1, 1) = '['), -- a JSON array, as a winner's
  host TEXT NOT NULL, -- name of the machine; empty: not known
  UNIQUE (model, problem),
  FOREIGN KEY (device, model) REFERENCES device (id, model)
) STRICT;
CREATE INDEX deterministic_by_code ON deterministic (code);

-- Winners that were timed once more, beside the default and without a search: how times drift.
CREATE TABLE recheck (
  id INTEGER PRIMARY KEY,
  device INTEGER NOT NULL REFERENCES device (id),
  problem INTEGER NOT NULL REFERENCES problem (id),
  configuration TEXT NOT NULL CHECK (configuration <> ''),
  outcome TEXT NOT NULL CHECK (outcome IN ('ok', 'compile_error', 'launch_error', 'wrong_result', 'unstable_result',
                                           'out_of_bounds', 'out_of_memory', 'crash', 'timeout')),
  message TEXT NOT NULL,
  samples_us TEXT NOT NULL CHECK (substr(samples_us, 1, 1) = '['), -- a JSON array of numbers
  median_us REAL NOT NULL CHECK (median_us >= 0),
  spread_us REAL NOT NULL CHECK (spread_us >= 0),
  default_us REAL NOT NULL CHECK (default_us >= 0), -- of the default beside it; 0: not timed
  stored_us REAL NOT NULL CHECK (stored_us >= 0), -- what the winner had when it was tuned, and the default then
  stored_default_us REAL NOT NULL CHECK (stored_default_us >= 0),
  noisy INTEGER NOT NULL CHECK (noisy IN (0, 1)),
  temperature_c INTEGER NOT NULL CHECK (temperature_c >= 0), -- 0: unknown, as in the next two
  clock_mhz INTEGER NOT NULL CHECK (clock_mhz >= 0),
  memory_clock_mhz INTEGER NOT NULL CHECK (memory_clock_mhz >= 0),
  rechecked_at TEXT NOT NULL -- UTC, ISO 8601
) STRICT;
