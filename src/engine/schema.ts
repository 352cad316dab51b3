// The tables of an engine. All keys begin with the store, so that a distributed database keeps the
// rows of a store together. No sequences, triggers or foreign keys. Migrations only add.

export const schema: readonly string[] = [
  'create table if not exists gl_engine (format int not null, floor int not null)',
  // Those that run, or did two minutes ago.
  `create table if not exists gl_server (
     server text primary key, format int not null, at timestamptz not null)`,
  // One small row that each write updates: half of a page is left free for its versions.
  `create table if not exists gl_store (
     store text primary key, number bigint not null, base bigint not null, base_id text,
     swept bigint not null, holder text, until timestamptz
   ) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05)`,
  // Of a store that was made before, it may be true without any.
  'alter table gl_store add column if not exists remotes boolean not null default true',
  `create table if not exists gl_log (
     store text, number bigint, token text not null, body bytea not null, parts text,
     primary key (store, number))`,
  // Sealed bytes cannot be compressed.
  'alter table gl_log alter body set storage external',
  `create table if not exists gl_part (
     store text, id text, part int, body bytea not null, swept bigint not null,
     at timestamptz not null, primary key (store, id, part))`,
  'alter table gl_part alter body set storage external',
  // Without a body once it was removed.
  `create table if not exists gl_own (
     store text, name text, revision bigint not null, body bytea, at timestamptz not null,
     primary key (store, name))`,
  'alter table gl_own alter body set storage external',
  // Its row is held by a change of the list.
  `create table if not exists gl_list (
     list text primary key, generation bigint not null, head bytea not null)`,
  // The hash is that of the body, so that a start reads no bodies. It is believed if the digest of
  // the list has it, and compared with each body that is read.
  `create table if not exists gl_record (
     list text, kind text, id text collate "C", scope text not null, time bigint not null,
     weight bigint not null, generation bigint not null, added bigint not null,
     hash bytea not null, body bytea not null,
     primary key (list, kind, id))`,
  `create index if not exists gl_record_by_time
     on gl_record (list, kind, scope, time desc, id desc)`,
  // Which rows the newest changes wrote, or removed if there is no hash: a hint for servers
  // (row-index.ts).
  `create table if not exists gl_change (
     list text, generation bigint, kind text, id text collate "C", hash bytea,
     primary key (list, generation, kind, id))`,
  `create table if not exists gl_mark (
     store text, state text, at timestamptz not null, primary key (store, state))`,
  'create table if not exists gl_job (name text primary key, holder text, until timestamptz)',
  // Statistics would keep samples of short bodies, removed ones included.
  ...['gl_log', 'gl_part', 'gl_own', 'gl_record'].map((table) => {
    return `alter table ${table} alter body set statistics 0`
  }),
]
