// Temporary directories that remove themselves, and stock git in a clean environment: no system or
// user configuration, no prompts, no hooks or identity of the machine that runs the tests.

import { execFileSync } from 'node:child_process'
import { cpSync, lstatSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, onTestFinished } from 'vitest'

/** A new directory, removed when the current test ends. Call it inside a test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gitlocket-test-'))
  onTestFinished(() => removeDirectory(directory))
  return directory
}

/** A new directory, removed when all tests of the file (or of the `describe`) have ended. */
export function sharedDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'gitlocket-test-'))
  afterAll(() => removeDirectory(directory))
  return directory
}

/**
 * A new directory for templates that all files of tests in this process share. It is removed with
 * all others at the very end (temporary-root.ts): workers end without a word.
 */
export function directoryOfProcess(): string {
  return mkdtempSync(join(tmpdir(), 'gitlocket-test-'))
}

/** Copies a directory in which a store may be open: without sockets, which stand for a process. */
export function copyDirectory(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !lstatSync(path).isSocket() })
}

function removeDirectory(directory: string): void {
  rmSync(directory, { recursive: true, force: true, maxRetries: 3 })
}

/** The environment for stock git and ssh-keygen; `home` keeps them away from the user's files. */
export function cleanEnvironment(home: string = tmpdir()): NodeJS.ProcessEnv {
  return {
    PATH: process.env['PATH'],
    HOME: home,
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: 'true',
    GIT_AUTHOR_NAME: 'Test',
    GIT_AUTHOR_EMAIL: 'test@localhost',
    GIT_COMMITTER_NAME: 'Test',
    GIT_COMMITTER_EMAIL: 'test@localhost',
  }
}

/** Standard output of `git <args>`. Throws, with git's standard error, if it exits above 0. */
export function git(args: readonly string[], cwd: string, input?: Uint8Array | string): string {
  return gitBytes(args, cwd, input).toString('utf8')
}

/** The same, byte for byte: for `git cat-file` and packs. */
export function gitBytes(
  args: readonly string[],
  cwd: string,
  input?: Uint8Array | string,
): Buffer<ArrayBuffer> {
  return execFileSync('git', args, {
    cwd,
    env: cleanEnvironment(),
    ...(input === undefined ? {} : { input }),
    maxBuffer: 1024 ** 3,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}
