CREATE TABLE answers (
  call   INTEGER PRIMARY KEY,
  codec  TEXT NOT NULL DEFAULT '',
  key_id TEXT NOT NULL DEFAULT '',
  answer BLOB NOT NULL
) STRICT;

CREATE TABLE audit (
  id       INTEGER PRIMARY KEY,
  act      TEXT    NOT NULL,                 -- joins the writes of one act; '' = none
  operator TEXT    NOT NULL,
  asked    TEXT    NOT NULL,                 -- what was asked for, in the words of a command
  action   TEXT    NOT NULL,                 -- redrive, repair, discard, mark-group, campaign, hold, resume, reask, setting, drop
  at       INTEGER NOT NULL,                 -- of the first write
  last     INTEGER NOT NULL,                 -- of the latest write
  queue    TEXT    NOT NULL,                 -- '' = several, or none
  n        INTEGER NOT NULL,                 -- how many messages, groups, gates or settings were changed
  detail   TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX audit_act ON audit (act, action) WHERE act <> '';

CREATE TABLE bodies (
  message      INTEGER PRIMARY KEY,
  hash         BLOB NOT NULL,                -- of the body as received, which a later one is compared with
  body_hash    BLOB,                         -- of the body as it is, where that is another; NULL: the same as hash
  codec        TEXT NOT NULL DEFAULT '',
  key_id       TEXT NOT NULL DEFAULT '',
  content_type TEXT NOT NULL DEFAULT '',     -- '' = application/json
  headers      TEXT,                         -- a JSON object of texts, or NULL
  body         BLOB
) STRICT;

CREATE TABLE calls (
  id           INTEGER PRIMARY KEY,
  message      INTEGER NOT NULL,
  delivery     INTEGER NOT NULL,             -- number of the delivery for which it was made
  process      INTEGER NOT NULL,             -- processes.id of the sender
  request_hash BLOB    NOT NULL,             -- over the exact bytes sent
  ask_hash     BLOB,                         -- over the request without output schema and output limit
  digest       TEXT    NOT NULL DEFAULT '',
  lane         TEXT    NOT NULL DEFAULT '',
  started_at   INTEGER NOT NULL,
  deadline     INTEGER NOT NULL,
  ended_at     INTEGER,
  fate         TEXT    NOT NULL,             -- started, answered, refused, unsent, unknown
  status       INTEGER NOT NULL DEFAULT 0,
  request_id   TEXT    NOT NULL DEFAULT '',
  output_limit INTEGER NOT NULL DEFAULT 0,
  input_tokens          INTEGER NOT NULL DEFAULT 0,
  output_tokens         INTEGER NOT NULL DEFAULT 0,
  cache_write_5m_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_1h_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens     INTEGER NOT NULL DEFAULT 0,
  cost         INTEGER NOT NULL DEFAULT 0,
  worst_cost   INTEGER NOT NULL DEFAULT 0,
  priced       INTEGER NOT NULL,             -- 0: no price is known
  error        TEXT,                         -- a JSON object: how it failed
  verdict      TEXT    NOT NULL DEFAULT '',  -- '' not judged yet, accepted, rejected
  judged_cause TEXT    NOT NULL DEFAULT '',
  judged_under TEXT    NOT NULL DEFAULT ''   -- the recipe digest whose acceptance judged
) STRICT;

CREATE INDEX calls_message ON calls (message);

CREATE INDEX calls_started ON calls (process) WHERE fate = 'started';

CREATE TABLE campaign_members (
  id          INTEGER PRIMARY KEY,
  campaign    INTEGER NOT NULL,              -- campaigns.id
  message     INTEGER NOT NULL,
  dead_at     INTEGER NOT NULL,              -- when it had been set aside: another time means that it was sent back or changed since
  status      TEXT    NOT NULL,              -- pending, sent, done, same, other, unchanged, invalid, skipped, discarded
  fingerprint TEXT    NOT NULL,              -- of its failure when it became a member, or was sent
  serial      INTEGER NOT NULL DEFAULT 0,    -- the stage in which it was sent
  text        TEXT    NOT NULL DEFAULT ''    -- why it was passed over, or how it was repaired
) STRICT;

CREATE INDEX campaign_members_campaign ON campaign_members (campaign);

CREATE INDEX campaign_members_message ON campaign_members (message);

CREATE TABLE campaigns (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  state    TEXT    NOT NULL,                 -- selecting, running, paused, stopped, finished, aborted; as in campaign
  next     INTEGER NOT NULL DEFAULT 0,       -- no member before this row of campaign_members is pending
  campaign TEXT    NOT NULL                  -- a JSON object: the plan, and the counts of members by status
) STRICT;

CREATE TABLE copies (
  copy   INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  PRIMARY KEY (copy, origin)
) STRICT, WITHOUT ROWID;

CREATE INDEX copies_origin ON copies (origin);

CREATE TABLE deliveries (
  message      INTEGER NOT NULL,
  number       INTEGER NOT NULL,             -- from 1
  started_at   INTEGER NOT NULL,
  ended_at     INTEGER NOT NULL,
  worker       TEXT    NOT NULL,
  outcome      TEXT    NOT NULL,
  digest       TEXT,
  cause        TEXT,                         -- this and the rest: NULL when done
  fingerprint  TEXT,
  error        TEXT,
  status       INTEGER,
  request_id   TEXT,
  fault_offset INTEGER,
  PRIMARY KEY (message, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE failure_groups (
  queue        INTEGER NOT NULL,
  fingerprint  TEXT    NOT NULL,
  cause        TEXT    NOT NULL,
  state        TEXT    NOT NULL,             -- new, known, resolved, ignored
  note         TEXT    NOT NULL,
  operator     TEXT    NOT NULL,             -- who changed state or note last
  changed_at   INTEGER,                      -- when that was; NULL: never
  regressed_at INTEGER,                      -- when it came back after it was resolved; NULL: it has not
  first_seen   INTEGER NOT NULL,
  last_seen    INTEGER NOT NULL,
  arrived      INTEGER NOT NULL,             -- how often a message was set aside into it, ever
  hours        TEXT    NOT NULL,             -- a JSON object: the arrivals of each of the latest 24 hours
  sample_id    TEXT    NOT NULL,
  sample_text  TEXT    NOT NULL,
  heirs        TEXT    NOT NULL DEFAULT '',  -- a JSON list of the newer fingerprints that have taken over what is known of it
  PRIMARY KEY (queue, fingerprint)
) STRICT, WITHOUT ROWID;

CREATE TABLE files (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE                  -- as the user named it; - is standard input
) STRICT;

CREATE TABLE gates (
  id    INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,                       -- account, lane, recipe
  name  TEXT NOT NULL,
  gate  TEXT NOT NULL,                       -- a JSON object
  UNIQUE (scope, name)
) STRICT;

CREATE TABLE inputs (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  queue    INTEGER NOT NULL,
  key      TEXT    NOT NULL,
  process  INTEGER NOT NULL,                 -- processes.id of the reader; dropped only when that process is gone
  state    TEXT    NOT NULL,                 -- open, sealed, dropping
  taken    INTEGER NOT NULL DEFAULT 0,       -- 1: another generation has enqueued some of its members again
  begun_at INTEGER NOT NULL
) STRICT;

CREATE INDEX inputs_key ON inputs (queue, key, id);

CREATE TABLE last_errors (
  message      INTEGER PRIMARY KEY,
  outcome      TEXT    NOT NULL,
  cause        TEXT    NOT NULL,
  fingerprint  TEXT    NOT NULL,
  error        TEXT    NOT NULL,             -- scrubbed and bounded
  status       INTEGER NOT NULL DEFAULT 0,   -- HTTP status, 0 when there is none
  request_id   TEXT    NOT NULL DEFAULT '',
  fault_offset INTEGER                       -- of the fault in the body
) STRICT;

CREATE TABLE members (
  input       INTEGER NOT NULL,
  ordinal     INTEGER NOT NULL,              -- among the records of the input, from 0
  message     INTEGER NOT NULL,
  file        INTEGER NOT NULL,              -- files.id
  line        INTEGER NOT NULL,              -- from 1
  offset      INTEGER NOT NULL,              -- in bytes from 0
  hash        BLOB    NOT NULL,              -- of the body that it brought
  source_hash BLOB,                          -- of the record's bytes in the file; NULL: the same as hash
  nth         INTEGER,                       -- for a record without an ID: how many with the same bytes stand before it
  PRIMARY KEY (input, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX members_equal ON members (input, coalesce(source_hash, hash), nth) WHERE nth IS NOT NULL;

CREATE INDEX members_message ON members (message);

CREATE TABLE messages (
  id            INTEGER PRIMARY KEY,         -- rises in the order of receipt
  queue         INTEGER NOT NULL,            -- queues.id
  event_id      TEXT    NOT NULL,
  state         TEXT    NOT NULL,            -- ready, leased, done, dead, discarded
  turn          INTEGER NOT NULL DEFAULT 0,  -- among whom it waits when ready: 0 untried messages, 1 those with attempt > 0,
                                             -- 2 + solo_crashes those to be leased alone (suspect or alone), -1 those that
                                             -- wait for the result of another queue
  priority      INTEGER NOT NULL DEFAULT 0,
  available_at  INTEGER NOT NULL,            -- when ready: not before
  expires_at    INTEGER,                     -- NULL: never
  received_at   INTEGER NOT NULL,
  attempt       INTEGER NOT NULL DEFAULT 0,  -- deliveries that failed through the message, since the last redrive
  gray          INTEGER NOT NULL DEFAULT 0,
  waits         INTEGER NOT NULL DEFAULT 0,
  interruptions INTEGER NOT NULL DEFAULT 0,
  redrives      INTEGER NOT NULL DEFAULT 0,
  deliveries    INTEGER NOT NULL DEFAULT 0,  -- ever; the number of the latest
  reset_after   INTEGER NOT NULL DEFAULT 0,  -- the number of the latest delivery when attempt was last set to 0
  suspect       INTEGER NOT NULL DEFAULT 0,  -- 1: in flight when a process died, and not settled since
  solo_crashes  INTEGER NOT NULL DEFAULT 0,  -- process deaths around it while it was in flight alone
  alone         INTEGER NOT NULL DEFAULT 0,  -- 1: its waits are used up, and its next delivery is its last trial
  held_at       INTEGER,                     -- when a delivery was last held; NULL: never, or not since attempt was set to 0
  lease_nonce   INTEGER NOT NULL DEFAULT 0,  -- with the id, the lease token; 0 when not leased
  lease_started INTEGER,                     -- this and the next three: of the latest lease, also after its end
  lease_until   INTEGER,
  worker        TEXT,                        -- name of the worker
  process       INTEGER,                     -- processes.id of its process
  pending       INTEGER NOT NULL DEFAULT 0,  -- 1: pending_bodies has a body that replaces this one when the delivery ends
  no_body       INTEGER NOT NULL DEFAULT 0,  -- 1: retention has dropped the body
  dead_at       INTEGER,                     -- set while dead
  reason        TEXT,                        -- set while dead: why it was set aside
  cause         TEXT,                        -- of the last error
  fingerprint   TEXT,                        -- of the last error
  digest        TEXT,                        -- when done: the recipe digest under which it was answered
  input         INTEGER,                     -- the input generation that enqueued it last; NULL: none ever did
  ordinal       INTEGER,                     -- its place there, or in the file that its producer named; NULL: nobody said
  fairness_key  TEXT,
  waits_for     TEXT,                        -- the queue to which it was forwarded, and whose result it waits for; a dead one
                                             -- has it while its copy there is dead
  returned      INTEGER NOT NULL DEFAULT 0,  -- how often the result of another queue has come into its body
  copy          INTEGER NOT NULL DEFAULT 0   -- 1: a message of another queue was forwarded as this one, see copies
) STRICT;

CREATE INDEX messages_dead ON messages (queue, no_body, dead_at) WHERE state = 'dead';

CREATE INDEX messages_dead_group ON messages (queue, fingerprint, no_body, dead_at) WHERE state = 'dead';

CREATE UNIQUE INDEX messages_event ON messages (queue, event_id);

CREATE INDEX messages_expiring ON messages (queue, expires_at) WHERE state = 'ready' AND expires_at IS NOT NULL;

CREATE INDEX messages_leased ON messages (queue, lease_until) WHERE state = 'leased';

CREATE INDEX messages_ready ON messages (queue, turn, priority DESC, available_at, id) WHERE state = 'ready';

CREATE INDEX messages_ready_input ON messages (input, turn, priority DESC, available_at, id)
  WHERE state = 'ready' AND input IS NOT NULL;

CREATE TABLE meta (
  one          INTEGER PRIMARY KEY CHECK (one = 1),
  store_id     TEXT    NOT NULL,
  format       INTEGER NOT NULL,
  simulated    INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  clock_last   INTEGER NOT NULL,             -- the latest time given out
  clock_offset INTEGER NOT NULL
) STRICT;

CREATE TABLE notes (
  key        TEXT    NOT NULL PRIMARY KEY,
  value      BLOB,                           -- NULL: removed
  version    INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;

CREATE TABLE origins (
  message     INTEGER PRIMARY KEY,
  ordinal     INTEGER NOT NULL,
  file        INTEGER NOT NULL,
  line        INTEGER NOT NULL,
  offset      INTEGER NOT NULL,
  source_hash BLOB    NOT NULL
) STRICT;

CREATE TABLE pending_bodies (
  message      INTEGER PRIMARY KEY,
  hash         BLOB    NOT NULL,
  codec        TEXT    NOT NULL DEFAULT '',
  key_id       TEXT    NOT NULL DEFAULT '',
  content_type TEXT    NOT NULL DEFAULT '',
  headers      TEXT,
  body         BLOB,
  available_at INTEGER NOT NULL,
  expires_at   INTEGER,
  priority     INTEGER NOT NULL,
  fairness_key TEXT,
  failure      TEXT                          -- a JSON object, when it is to be set aside at once
) STRICT;

CREATE TABLE processes (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  pid         INTEGER NOT NULL,
  host        TEXT    NOT NULL,
  boot_id     TEXT    NOT NULL,              -- changes when the machine restarts
  started_at  INTEGER NOT NULL,
  lock_file   TEXT    NOT NULL,              -- device and inode of the lock file; '' where such locks are not to be had
  lock_offset INTEGER NOT NULL,
  stopped     INTEGER NOT NULL DEFAULT 0     -- 1: it has closed the store itself, with leases left
) STRICT;

CREATE TABLE queues (
  id            INTEGER PRIMARY KEY,
  name          TEXT    NOT NULL UNIQUE,
  stale_settles INTEGER NOT NULL DEFAULT 0   -- settlements that came after their lease was gone
) STRICT;

CREATE TABLE results (
  message INTEGER PRIMARY KEY,
  codec   TEXT NOT NULL DEFAULT '',
  key_id  TEXT NOT NULL DEFAULT '',
  result  BLOB NOT NULL
) STRICT;

CREATE TABLE revisions (
  id       INTEGER PRIMARY KEY,
  message  INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  kind     TEXT    NOT NULL,                 -- superseded, reasked, readopted, redriven, discarded, repaired, returned, dropped
  note     TEXT    NOT NULL DEFAULT '',
  operator TEXT    NOT NULL DEFAULT '',      -- who did it, where that is known
  campaign INTEGER NOT NULL DEFAULT 0,       -- campaigns.id of the one that did it; 0: none
  codec    TEXT    NOT NULL DEFAULT '',
  key_id   TEXT    NOT NULL DEFAULT '',
  body     BLOB,                             -- the earlier body, where it was replaced
  headers  TEXT,                             -- the earlier headers, where they were replaced; a JSON object of texts
  result   BLOB,                             -- the earlier answer
  digest   TEXT
) STRICT;

CREATE INDEX revisions_kept ON revisions (at) WHERE body IS NOT NULL OR result IS NOT NULL;

CREATE INDEX revisions_message ON revisions (message);

CREATE TABLE spend (
  message   INTEGER PRIMARY KEY,
  calls     INTEGER NOT NULL DEFAULT 0,
  maybe     INTEGER NOT NULL DEFAULT 0,
  unpriced  INTEGER NOT NULL DEFAULT 0,
  cost      INTEGER NOT NULL DEFAULT 0,
  maybe_max INTEGER NOT NULL DEFAULT 0,
  input_tokens          INTEGER NOT NULL DEFAULT 0,
  output_tokens         INTEGER NOT NULL DEFAULT 0,
  cache_write_5m_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_1h_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens     INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE spend_totals (
  queue     INTEGER NOT NULL,
  input     INTEGER NOT NULL,
  calls     INTEGER NOT NULL DEFAULT 0,
  maybe     INTEGER NOT NULL DEFAULT 0,
  unpriced  INTEGER NOT NULL DEFAULT 0,
  cost      INTEGER NOT NULL DEFAULT 0,
  maybe_max INTEGER NOT NULL DEFAULT 0,
  input_tokens          INTEGER NOT NULL DEFAULT 0,
  output_tokens         INTEGER NOT NULL DEFAULT 0,
  cache_write_5m_tokens INTEGER NOT NULL DEFAULT 0,
  cache_write_1h_tokens INTEGER NOT NULL DEFAULT 0,
  cache_read_tokens     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, input)
) STRICT, WITHOUT ROWID;

CREATE TABLE tallies (
  queue       INTEGER NOT NULL,
  input       INTEGER NOT NULL,
  state       TEXT    NOT NULL,
  tried       INTEGER NOT NULL,
  detail      TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  n           INTEGER NOT NULL,              -- may have come down to 0
  PRIMARY KEY (queue, input, state, tried, detail, fingerprint)
) STRICT, WITHOUT ROWID;

