// Every statement that the cache runs, by name. Values are always bound, never printed into the text. All of
// them are compiled when a cache is opened, which also proves that the file has the tables and columns they
// name.
#ifndef GT_CACHE_STATEMENTS_H
#define GT_CACHE_STATEMENTS_H

// In the order in which read_trial (trials.c) reads them.
#define GT_TRIAL_COLUMNS                                                                           \
  "t.configuration, t.source_hash, t.outcome, t.message, t.samples_us, t.median_us, t.spread_us, " \
  "t.checked, t.compile_ms, t.registers, t.lds_bytes, t.scratch_bytes, t.noisy, t.temperature_c, " \
  "t.clock_mhz, t.memory_clock_mhz"

// A model's name, as the cache shows it.
#define GT_MODEL_TEXT "m.backend || ' / ' || m.name || ' / ' || m.arch || ' / ' || m.compute_units"

// In the order in which read_winner (winners.c) reads them; the code object's bytes come after these.
#define GT_WINNER_COLUMNS                                                                              \
  "p.text AS problem, " GT_MODEL_TEXT " AS model, "                                                    \
  "w.variant, w.median_us, w.spread_us, w.default_us, w.stream_us, w.compiler, w.driver, w.tuned_at, " \
  "w.ties, "                                                                                           \
  "w.code, CASE WHEN c.size = length(c.blob) THEN c.size END AS size"
#define GT_WINNER_TABLES_OF(table)                                              \
  table " w JOIN model m ON m.id = w.model JOIN problem p ON p.id = w.problem " \
        "LEFT JOIN code c ON c.hash = w.code"
#define GT_WINNER_TABLES GT_WINNER_TABLES_OF("winner")
#define GT_DETERMINISTIC_TABLES GT_WINNER_TABLES_OF("deterministic")

// Into one of the two tables; what it has beside a winner's columns: their names, values and updates.
#define GT_PUT_WINNER(table, names, values, updates)                                                    \
  "INSERT INTO " table " (model, problem, device, variant, median_us, spread_us, default_us, stream_us, " \
  "compiler, driver, code, tuned_at, ties" names ") VALUES (:model, :problem, :device, :variant, "        \
  ":median_us, :spread_us, :default_us, :stream_us, :compiler, :driver, :code, :tuned_at, :ties" values   \
  ") ON CONFLICT (model, problem) DO UPDATE SET device = excluded.device, variant = excluded.variant, "   \
  "median_us = excluded.median_us, spread_us = excluded.spread_us, default_us = excluded.default_us, "    \
  "stream_us = excluded.stream_us, compiler = excluded.compiler, driver = excluded.driver, "              \
  "code = excluded.code, tuned_at = excluded.tuned_at, ties = excluded.ties" updates

// Which device it was and what drove it, in the order in which gt_origin_read (origin.c) reads them.
#define GT_DEVICE_COLUMNS                                                        \
  "m.backend, m.name, m.arch, m.compute_units, d.pci_id, d.memory_bytes, d.driver, d.runtime, d.compiler, " \
  "d.id AS device_id, p.id AS problem_id"

// Whether a problem's `grid`, the last key of its text, is that of :text: the same, or in neither.
#define GT_SAME_POSITIONS                                                        \
  "substr(p.text, instr(p.text || ',grid=', ',grid=')) = "                       \
  "substr(:text, instr(:text || ',grid=', ',grid=')) "

// X(name, SQL)
#define GT_STATEMENT_LIST(X)                                                                                \
  X(FIND_MODEL, "SELECT id FROM model WHERE backend = :backend AND name = :name AND arch = :arch "          \
                "AND compute_units = :compute_units")                                                       \
  X(ADD_MODEL, "INSERT INTO model (backend, name, arch, compute_units) "                                    \
               "VALUES (:backend, :name, :arch, :compute_units)")                                           \
  X(FIND_DEVICE, "SELECT id FROM device WHERE model = :model AND pci_id = :pci_id "                         \
                 "AND memory_bytes = :memory_bytes AND driver = :driver AND runtime = :runtime "            \
                 "AND compiler = :compiler")                                                                \
  X(ADD_DEVICE, "INSERT INTO device (model, pci_id, memory_bytes, driver, runtime, compiler) "              \
                "VALUES (:model, :pci_id, :memory_bytes, :driver, :runtime, :compiler)")                    \
  X(FIND_PROBLEM, "SELECT id FROM problem WHERE text = :text")                                              \
  X(ADD_PROBLEM, "INSERT INTO problem (text, kernel, outer_count, operator, dtype) "                        \
                 "VALUES (:text, :kernel, :outer_count, :operator, :dtype)")                                \
  X(PUT_TRIAL, "INSERT INTO trial (device, problem, configuration, source_hash, outcome, message, "         \
               "samples_us, median_us, spread_us, checked, compile_ms, registers, lds_bytes, "              \
               "scratch_bytes, tried_at, noisy, temperature_c, clock_mhz, memory_clock_mhz) VALUES "        \
               "(:device, :problem, :configuration, :source_hash, "                                         \
               ":outcome, :message, :samples_us, :median_us, :spread_us, :checked, :compile_ms, "           \
               ":registers, :lds_bytes, :scratch_bytes, :tried_at, :noisy, :temperature_c, "                \
               ":clock_mhz, :memory_clock_mhz) "                                                            \
               "ON CONFLICT (device, problem, configuration) DO UPDATE SET "                                \
               "source_hash = excluded.source_hash, outcome = excluded.outcome, "                           \
               "message = excluded.message, samples_us = excluded.samples_us, "                             \
               "median_us = excluded.median_us, spread_us = excluded.spread_us, "                           \
               "checked = excluded.checked, compile_ms = excluded.compile_ms, "                             \
               "registers = excluded.registers, lds_bytes = excluded.lds_bytes, "                           \
               "scratch_bytes = excluded.scratch_bytes, tried_at = excluded.tried_at, "                     \
               "noisy = excluded.noisy, temperature_c = excluded.temperature_c, "                           \
               "clock_mhz = excluded.clock_mhz, memory_clock_mhz = excluded.memory_clock_mhz")              \
  X(GET_TRIAL, "SELECT " GT_TRIAL_COLUMNS " FROM trial t WHERE t.device = :device "                         \
               "AND t.problem = :problem AND t.configuration = :configuration")                             \
  X(COUNT_TRIALS, "SELECT count(*) FROM trial WHERE device = :device AND problem = :problem")               \
  X(EACH_TRIAL, "SELECT " GT_TRIAL_COLUMNS " FROM trial t JOIN device d ON d.id = t.device "                \
                "WHERE d.model = :model AND t.problem = :problem ORDER BY t.configuration, t.id")           \
  X(EACH_STORED_TRIAL, "SELECT " GT_TRIAL_COLUMNS ", p.text AS problem, " GT_MODEL_TEXT " AS model "        \
                       "FROM trial t JOIN device d ON d.id = t.device JOIN model m ON m.id = d.model "      \
                       "JOIN problem p ON p.id = t.problem WHERE :model < 0 OR d.model = :model "           \
                       "ORDER BY d.model, t.problem, t.configuration, t.id")                                \
  X(EACH_QUARANTINED, "SELECT " GT_TRIAL_COLUMNS ", p.text AS problem, " GT_MODEL_TEXT " AS model, "        \
                      "d.pci_id, d.driver, d.compiler, t.tried_at "                                         \
                      "FROM trial t JOIN device d ON d.id = t.device JOIN model m ON m.id = d.model "       \
                      "JOIN problem p ON p.id = t.problem WHERE t.outcome IN ('crash', 'timeout') "         \
                      "ORDER BY d.model, d.id, p.text, t.configuration, t.id")                              \
  X(FIND_QUARANTINED,                                                                                       \
    "SELECT " GT_TRIAL_COLUMNS " FROM trial t WHERE t.device = :device "                                    \
    "AND t.source_hash = :source_hash AND t.outcome IN ('crash', 'timeout') ORDER BY t.id LIMIT 1")         \
  X(PUT_RECHECK,                                                                                            \
    "INSERT INTO recheck (device, problem, configuration, outcome, message, samples_us, "                   \
    "median_us, spread_us, default_us, stored_us, stored_default_us, noisy, temperature_c, clock_mhz, "     \
    "memory_clock_mhz, rechecked_at) VALUES (:device, :problem, :configuration, :outcome, :message, "       \
    ":samples_us, :median_us, :spread_us, :default_us, :stored_us, :stored_default_us, :noisy, "            \
    ":temperature_c, :clock_mhz, :memory_clock_mhz, :rechecked_at)")                                        \
  X(EACH_RECHECK,                                                                                           \
    "SELECT r.configuration, r.outcome, r.message, r.samples_us, r.median_us, "                             \
    "r.spread_us, r.default_us, r.stored_us, r.stored_default_us, r.noisy, r.temperature_c, "               \
    "r.clock_mhz, r.memory_clock_mhz, r.rechecked_at, p.text AS problem, " GT_MODEL_TEXT " AS model "       \
    "FROM recheck r JOIN device d ON d.id = r.device JOIN model m ON m.id = d.model "                       \
    "JOIN problem p ON p.id = r.problem ORDER BY d.model, p.text, r.id")                                    \
  X(PUT_CODE, "INSERT INTO code (hash, blob, size) VALUES (:hash, :blob, :size) "                           \
              "ON CONFLICT (hash) DO UPDATE SET blob = excluded.blob, size = excluded.size "                \
              "WHERE blob <> excluded.blob OR size <> excluded.size")                                       \
  X(DROP_UNUSED_CODE, "DELETE FROM code WHERE hash = :hash "                                                \
                      "AND NOT EXISTS (SELECT 1 FROM winner w WHERE w.code = :hash) "                       \
                      "AND NOT EXISTS (SELECT 1 FROM deterministic w WHERE w.code = :hash)")                \
  X(FIND_WINNER, "SELECT id, code FROM winner WHERE model = :model AND problem = :problem")                 \
  X(PUT_WINNER, GT_PUT_WINNER("winner", "", "", ""))                                                        \
  X(GET_WINNER, "SELECT " GT_WINNER_COLUMNS ", CASE WHEN :with_code THEN c.blob END AS blob "               \
                "FROM " GT_WINNER_TABLES " WHERE w.id = :winner")                                           \
  X(EACH_WINNER, "SELECT " GT_WINNER_COLUMNS " FROM " GT_WINNER_TABLES                                      \
                 " ORDER BY m.backend, m.name, m.arch, m.compute_units, p.text")                            \
  X(EACH_TUNED, "SELECT p.text, w.median_us, w.stream_us FROM winner w JOIN problem p ON p.id = w.problem " \
                "WHERE w.model = :model ORDER BY p.id")                                                     \
  X(EACH_SIBLING, "SELECT name FROM model m WHERE backend = :backend AND arch = :arch "                     \
                  "AND compute_units = :compute_units AND name <> :name "                                   \
                  "AND EXISTS (SELECT 1 FROM winner w WHERE w.model = m.id) ORDER BY name")                 \
  X(TRIAL_RECORDS, "SELECT " GT_TRIAL_COLUMNS ", p.text AS problem, t.tried_at, " GT_DEVICE_COLUMNS         \
                   " FROM trial t JOIN device d ON d.id = t.device JOIN model m ON m.id = d.model "         \
                   "JOIN problem p ON p.id = t.problem ORDER BY t.id")                                      \
  X(WINNER_RECORDS, "SELECT " GT_WINNER_COLUMNS ", c.blob, " GT_DEVICE_COLUMNS " FROM " GT_WINNER_TABLES    \
                    " JOIN device d ON d.id = w.device ORDER BY w.id")                                      \
  X(FIND_DETERMINISTIC, "SELECT id, code FROM deterministic WHERE model = :model AND problem = :problem")   \
  X(PUT_DETERMINISTIC, GT_PUT_WINNER("deterministic", ", host", ", :host", ", host = excluded.host"))       \
  X(DROP_DETERMINISTIC, "DELETE FROM deterministic WHERE model = :model AND problem = :problem")            \
  X(GET_DETERMINISTIC, "SELECT " GT_WINNER_COLUMNS ", CASE WHEN :with_code THEN c.blob END AS blob "        \
                       "FROM " GT_DETERMINISTIC_TABLES " WHERE w.id = :winner")                             \
  X(DETERMINISTIC_RECORDS,                                                                                  \
    "SELECT " GT_WINNER_COLUMNS ", c.blob, " GT_DEVICE_COLUMNS ", w.host FROM " GT_DETERMINISTIC_TABLES     \
    " JOIN device d ON d.id = w.device ORDER BY w.id")                                                      \
  X(NEAREST_BELOW, "SELECT w.id, p.outer_count FROM problem p JOIN winner w ON w.problem = p.id "           \
                   "WHERE w.model = :model AND p.kernel = :kernel AND p.text <> :text "                     \
                   "AND p.outer_count < :outer_count AND p.outer_count > 0 AND " GT_SAME_POSITIONS          \
                   "ORDER BY p.outer_count DESC, p.text LIMIT 1")                                           \
  X(NEAREST_ABOVE,                                                                                          \
    "SELECT w.id, p.outer_count FROM problem p JOIN winner w ON w.problem = p.id "                          \
    "WHERE w.model = :model AND p.kernel = :kernel AND p.text <> :text "                                    \
    "AND p.outer_count >= :outer_count AND " GT_SAME_POSITIONS "ORDER BY p.outer_count, p.text LIMIT 1")    \
  X(COUNT, "SELECT (SELECT count(*) FROM model), (SELECT count(*) FROM device), "                           \
           "(SELECT count(*) FROM problem), (SELECT count(*) FROM trial), (SELECT count(*) FROM winner)")

typedef enum {
#define X(name, sql) GT_SQL_##name,
  GT_STATEMENT_LIST(X)
#undef X
      GT_SQL_COUNT_OF_STATEMENTS
} gt_sql;

#endif
