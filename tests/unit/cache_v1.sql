-- A cache of version 1, as gathertune made it then, with a few rows.
-- Every row says where it came from, so that a winner can be traced to the trials, the device and the software behind it.
-- application_id is "Gthr" in ASCII; store.h names both numbers.
PRAGMA application_id = 1198811250;
PRAGMA user_version = 1;

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

-- Problems of one kernel text render to the same kernels and differ in the outer count alone.
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
  UNIQUE (device, problem, configuration)
) STRICT;

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
  UNIQUE (model, problem),
  FOREIGN KEY (device, model) REFERENCES device (id, model)
) STRICT;
CREATE INDEX winner_by_code ON winner (code);

INSERT INTO model VALUES (1, 'recorded', 'Test GPU', 'gfx942:sramecc+:xnack-', 304);
INSERT INTO device VALUES (1, 1, '0000:03:00.0', 206158430208, 'driver 1', 'runtime 1', 'compiler 1');
INSERT INTO problem VALUES (1, 'upsample_bilinear2d_backward:n=4,c=1,in=16x16,out=32x32,dtype=f16,layout=nchw,align_corners=0',
  'upsample_bilinear2d_backward:c=1,in=16x16,out=32x32,dtype=f16,layout=nchw,align_corners=0', 4,
  'upsample_bilinear2d_backward', 'f16');
INSERT INTO trial VALUES (1, 1, 1, 'direct:block=256', '0123456789abcdef0123456789abcdef', 'ok', '', '[10.125,10.5]', 10.125, 0.1,
  1, 34.5, 64, 0, -1, '2025-01-31T12:00:00Z');
INSERT INTO trial VALUES (2, 1, 1, 'direct:block=512', 'fedcba9876543210fedcba9876543210', 'crash', 'killed', '[]', 0, 0,
  0, 34.5, -1, -1, -1, '2025-01-31T12:00:01Z');
INSERT INTO winner VALUES (1, 1, 1, 1, '{"configuration":"direct:block=256","family":"direct","launches":[{"block":[256,1,1],"blocks":[3,4],"kernel":"k"}],"reproducible":true,"source_hash":"0123456789abcdef0123456789abcdef","workspace":[0,0]}',
  7.5, 0.25, 30, 5, 'compiler 1', 'driver 1', NULL, '2025-01-31T12:00:02Z');
