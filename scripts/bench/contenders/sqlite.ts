// Encrypted SQLite in the manner of SQLCipher: a table of notes and a table of their versions. The
// package is installed into a directory of the run (it compiles for a minute or two) and is no
// dependency of ours.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Command, NewNote } from '../commands.ts'
import { type Keeper, type KeeperKind, type Notes, runOn } from './notes.ts'

const packageName = 'better-sqlite3-multiple-ciphers'
const packageVersion = '12.11.1'
const installTimeoutMs = 8 * 60_000

interface Statement {
  run(...values: readonly (string | number | null)[]): unknown
  get(...values: readonly (string | number)[]): Record<string, string> | undefined
  all(...values: readonly (string | number)[]): readonly Record<string, string | number>[]
}

/** The part of the package's interface that is used here. */
interface Database {
  pragma(text: string): unknown
  exec(sql: string): unknown
  prepare(sql: string): Statement
  transaction<A extends readonly unknown[]>(work: (...args: A) => void): (...args: A) => void
  close(): unknown
}

type OpenDatabase = (path: string) => Database

const schema = `
  CREATE TABLE notes(path TEXT PRIMARY KEY, content TEXT NOT NULL);
  CREATE TABLE versions(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL, operation TEXT NOT NULL, content TEXT,
    created INTEGER NOT NULL, actor TEXT NOT NULL);
  CREATE INDEX versions_path ON versions(path);`

/** Installs the package below `directory` unless it is there. Throws, with the way out. */
function installSqlite(directory: string): OpenDatabase {
  mkdirSync(directory, { recursive: true })
  const manifest = join(directory, 'package.json')
  if (!existsSync(join(directory, 'node_modules', packageName))) {
    writeFileSync(manifest, '{ "private": true }\n')
    const { status } = spawnSync(
      'npm',
      ['install', '--no-audit', '--no-fund', `${packageName}@${packageVersion}`],
      { cwd: directory, stdio: 'ignore', timeout: installTimeoutMs },
    )
    if (status !== 0) throw new Error(`npm could not install ${packageName}@${packageVersion}`)
  }
  const Constructor: new (path: string) => Database = createRequire(manifest)(packageName)
  return (path) => openEncrypted(new Constructor(path))
}

function openEncrypted(database: Database): Database {
  database.pragma("cipher = 'sqlcipher'")
  database.pragma("key = 'a passphrase for the bench'")
  database.pragma('journal_mode = WAL')
  database.pragma('synchronous = FULL')
  return database
}

/** Installs the package at the first start, which may compile for some minutes. */
export function sqlite(peers: string): KeeperKind {
  return {
    name: 'SQLCipher',
    start: async (directory) => {
      return new SqliteNotes(installSqlite(peers)(join(directory, 'notes.db')))
    },
  }
}

/** The store that an application would write: the note and its version in one transaction. */
class SqliteNotes implements Keeper, Notes {
  readonly #database: Database
  readonly #put: Statement
  readonly #move: Statement
  readonly #delete: Statement
  readonly #select: Statement
  readonly #log: Statement

  constructor(database: Database) {
    database.exec(schema)
    this.#database = database
    this.#put = database.prepare(
      'INSERT INTO notes VALUES (?, ?) ON CONFLICT(path) DO UPDATE SET content = excluded.content',
    )
    this.#move = database.prepare('UPDATE notes SET path = ? WHERE path = ?')
    this.#delete = database.prepare('DELETE FROM notes WHERE path = ?')
    this.#select = database.prepare('SELECT content FROM notes WHERE path = ?')
    this.#log = database.prepare(
      'INSERT INTO versions(path, operation, content, created, actor) VALUES (?, ?, ?, ?, ?)',
    )
  }

  fill(notes: Iterable<NewNote>): void {
    this.#atomically(() => {
      for (const { path, text } of notes) this.write(path, text)
    })
  }

  run(command: Command): unknown {
    if (command.command === 'view') return runOn(this, command)
    return this.#atomically(() => runOn(this, command))
  }

  read(path: string): string {
    const content = this.#select.get(path)?.['content']
    if (content === undefined) throw new Error('The note is missing')
    return content
  }

  write(path: string, text: string): void {
    this.#put.run(path, text)
    this.#record(path, 'written', text)
  }

  remove(path: string): void {
    this.#delete.run(path)
    this.#record(path, 'deleted', null)
  }

  move(from: string, to: string): void {
    this.#move.run(to, from)
    this.#record(to, 'renamed', null)
  }

  #atomically(work: () => void): void {
    this.#database.transaction(work)()
  }

  close(): void {
    this.#database.close()
  }

  #record(path: string, operation: string, content: string | null): void {
    this.#log.run(path, operation, content, Date.now(), 'bench')
  }
}
