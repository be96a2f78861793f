-- The layout of a Siding store, format 1. docs/store.md explains it for readers.
--
-- What holds everywhere: times are whole microseconds since 1970-01-01 UTC by the store's own clock; money is whole
-- 10⁻¹² USD; a hash is the 32 bytes of a SHA-256; codes (state, outcome, cause, reason, fate, verdict) are the texts
-- that the program shows. codec says how the blob beside it is written ('' = as it is), key_id under which key it is
-- encrypted ('' = not). A message's row is never deleted, and holds only what every change of state needs: bodies,
-- results, answers and texts stand in tables of their own, which a change of state does not rewrite.

-- +goose Up

PRAGMA application_id = 0x53444e47;
PRAGMA user_version = 1;

-- One row: what the store is, and its clock. Every write transaction reads it first and refuses a format that it does
-- not know. Store time is the wall clock plus clock_offset, which is raised after the wall clock was set back.
CREATE TABLE meta (
  one          INTEGER PRIMARY KEY CHECK (one = 1),
  store_id     TEXT    NOT NULL,
  format       INTEGER NOT NULL,
  simulated    INTEGER NOT NULL,
  created_at   INTEGER NOT NULL,
  clock_last   INTEGER NOT NULL,             -- the latest time given out
  clock_offset INTEGER NOT NULL
) STRICT;

CREATE TABLE queues (
  id            INTEGER PRIMARY KEY,
  name          TEXT    NOT NULL UNIQUE,
  stale_settles INTEGER NOT NULL DEFAULT 0   -- settlements that came after their lease was gone
) STRICT;

-- One row a message, rewritten by every change of state, and therefore small.
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
CREATE UNIQUE INDEX messages_event ON messages (queue, event_id);
CREATE INDEX messages_ready ON messages (queue, turn, priority DESC, available_at, id) WHERE state = 'ready';
CREATE INDEX messages_ready_input ON messages (input, turn, priority DESC, available_at, id)
  WHERE state = 'ready' AND input IS NOT NULL;
CREATE INDEX messages_leased ON messages (queue, lease_until) WHERE state = 'leased';
CREATE INDEX messages_expiring ON messages (queue, expires_at) WHERE state = 'ready' AND expires_at IS NOT NULL;
-- Dead letters in the order in which they were set aside. Those without a body stand apart: they cannot be sent back.
CREATE INDEX messages_dead ON messages (queue, no_body, dead_at) WHERE state = 'dead';
CREATE INDEX messages_dead_group ON messages (queue, fingerprint, no_body, dead_at) WHERE state = 'dead';

-- The body: as it was received, or as a repair has made it. Retention may drop body (NULL), never the row and the hash.
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

-- A body that was enqueued for a leased message: it takes the place of the other when the delivery ends.
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

CREATE TABLE results (
  message INTEGER PRIMARY KEY,
  codec   TEXT NOT NULL DEFAULT '',
  key_id  TEXT NOT NULL DEFAULT '',
  result  BLOB NOT NULL
) STRICT;

-- The latest failure of a message. A dead one always has it.
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

-- The history: one row a delivery, written once, when it ends. The first ten and the last ten of a message are kept;
-- how many between them were dropped is messages.deliveries less the rows here (and less one while it is leased).
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

-- Which messages were forwarded as which: one with the same event ID in another queue, and where that was forwarded
-- again, that one's copy too. What the calls for a copy cost is counted in the inputs of its origins as well.
CREATE TABLE copies (
  copy   INTEGER NOT NULL,
  origin INTEGER NOT NULL,
  PRIMARY KEY (copy, origin)
) STRICT, WITHOUT ROWID;
CREATE INDEX copies_origin ON copies (origin);

-- Earlier bodies and answers, and changes by hand. Retention may drop body and result (NULL).
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
CREATE INDEX revisions_message ON revisions (message);
CREATE INDEX revisions_kept ON revisions (at) WHERE body IS NOT NULL OR result IS NOT NULL;

-- The journal: one row a paid request, made before it is sent.
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

-- The raw bytes of answers.
CREATE TABLE answers (
  call   INTEGER PRIMARY KEY,
  codec  TEXT NOT NULL DEFAULT '',
  key_id TEXT NOT NULL DEFAULT '',
  answer BLOB NOT NULL
) STRICT;

-- Sums over the calls of one message. maybe counts the calls that may have been billed although no answer is recorded
-- (started and unknown ones), maybe_max is what they cost at most; unpriced are answered calls without a known price.
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

-- The same over a whole queue (input 0) and over the members of an input.
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

-- How many messages of a queue (input 0), and members of an input, are in each state. Kept exactly by every write, so
-- that counting costs nothing; Check counts them again. detail is the digest of done messages, the cause of dead ones and
-- the queue that ready ones wait for, else ''; fingerprint is that of dead ones.
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

-- A generation of an input: one reading of its files by one run. Sealed when the reading is complete.
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

CREATE TABLE files (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE                  -- as the user named it; - is standard input
) STRICT;

-- The manifest: which message each record of an input became, and where the record stands. A record that repeats an
-- earlier one of its input (same ID, same bytes) has no row.
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
CREATE INDEX members_message ON members (message);
CREATE INDEX members_equal ON members (input, coalesce(source_hash, hash), nth) WHERE nth IS NOT NULL;

-- Where a message came from, when it was not enqueued by an input, or when that generation has been dropped.
CREATE TABLE origins (
  message     INTEGER PRIMARY KEY,
  ordinal     INTEGER NOT NULL,
  file        INTEGER NOT NULL,
  line        INTEGER NOT NULL,
  offset      INTEGER NOT NULL,
  source_hash BLOB    NOT NULL
) STRICT;

-- A paced redrive of a selection of dead letters.
CREATE TABLE campaigns (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  state    TEXT    NOT NULL,                 -- selecting, running, paused, stopped, finished, aborted; as in campaign
  next     INTEGER NOT NULL DEFAULT 0,       -- no member before this row of campaign_members is pending
  campaign TEXT    NOT NULL                  -- a JSON object: the plan, and the counts of members by status
) STRICT;

-- The members of campaigns, in the order in which they became members. A message waits (pending or sent) in at most one
-- campaign that is not over.
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

-- The processes that have the store open. Each holds an operating-system lock on one byte of the file <store>-lock; a
-- lock that is free proves that the process has died. The row is removed with what it left behind.
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

-- What is known of an account, a lane or a recipe that several messages share: why and until when it is held, how its
-- latest calls went, which messages fail alike. One that has nothing to say has no row.
CREATE TABLE gates (
  id    INTEGER PRIMARY KEY,
  scope TEXT NOT NULL,                       -- account, lane, recipe
  name  TEXT NOT NULL,
  gate  TEXT NOT NULL,                       -- a JSON object
  UNIQUE (scope, name)
) STRICT;

-- What is kept of a kind of failure in a queue, and what operators have made of it. How many dead letters it has now is in
-- tallies. It is written with the messages that are set aside into it, and never deleted, but where a newer version of
-- the fingerprint took its place.
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

-- What operators did: one row an act and action, or a call where no act was named. Never deleted.
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

-- Small values that programs keep. One that was removed keeps its row, without a value, so that its versions go on.
CREATE TABLE notes (
  key        TEXT    NOT NULL PRIMARY KEY,
  value      BLOB,                           -- NULL: removed
  version    INTEGER NOT NULL,
  changed_at INTEGER NOT NULL
) STRICT;
