// What crosses between us, programs, hosts and people, as text: command lines, environments, words
// of a server, and their meanings.

import { describe, expect, test } from 'vitest'
import type { StoreError } from '../../../src/errors.ts'
import {
  connectionFailure,
  statusFailure,
  processFailure,
  rejection,
  harmless,
  secretForms,
} from '../../../src/transport/failures.ts'
import { childEnvironment } from '../../../src/transport/git-settings.ts'
import { quoteWord, shellCommand } from '../../../src/transport/process-wire.ts'
import { parseRemoteUrl } from '../../../src/transport/remote-url.ts'

describe('a command line of git', () => {
  test.each(['ssh', '/opt/ssh-2/bin/ssh'])('%s is started as it is', (line) => {
    expect(shellCommand(line)).toEqual([line])
  })

  test.each(['ssh -v', '$HOME/ssh', 'A=1 ssh', "'my ssh'"])('%s is for the shell', (line) => {
    expect(shellCommand(line)).toEqual(['/bin/sh', '-c', `${line} "$@"`, line])
  })
})

test('quoteWord makes one word for a shell', () => {
  expect(quoteWord(`it's $(x)`)).toBe(`'it'\\''s $(x)'`)
})

test('childEnvironment drops the variables that redirect git and ours', () => {
  const kept = childEnvironment({
    PATH: '/bin',
    SSH_AUTH_SOCK: '/s',
    GIT_CONFIG_GLOBAL: '/g',
    GIT_DIR: '/d',
    GIT_PROTOCOL: 'version=2',
    GIT_CONFIG_COUNT: '1',
    GIT_TRACE: '1',
    GIT_ASKPASS: '/ask',
    SSH_ASKPASS: '/ask',
    GITLOCKET_PASSPHRASE: 'geheim',
    LC_ALL: 'de_DE.UTF-8',
    EMPTY: undefined,
  })
  expect(kept).toEqual({
    PATH: '/bin',
    SSH_AUTH_SOCK: '/s',
    GIT_CONFIG_GLOBAL: '/g',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    SSH_ASKPASS_REQUIRE: 'never',
    GCM_INTERACTIVE: 'never',
    LC_ALL: 'C',
  })
})

describe('harmless', () => {
  test.each([
    ['one\ntwo\t three ', 'one two three'],
    ['\u001B[31mred\u001B[0m', 'red'],
    ['\u001B]0;title\u0007text', 'text'],
    ['\u001B]8;;http://x\u001B\\link\u001B]8;;\u001B\\', 'link'],
    ['bi\u202Edi \u0000zero \u009Bc1', 'bi di zero c1'],
    ['see https://me:pass@host/x', 'see https://***@host/x'],
    ['the grant GLKG1-4JXZHF3N8H72B2SV is known', 'the grant GLKG1-*** is known'],
    ['x'.repeat(500), `${'x'.repeat(400)}…`],
  ])('%j', (text, expected) => {
    expect(harmless(text)).toBe(expected)
  })

  test('a secret is hidden in every form in which it travels', () => {
    const credentials = { username: 'me', password: 'a b/c?' }
    const basic = Buffer.from('me:a b/c?').toString('base64')
    const text = `a b/c? ${encodeURIComponent('a b/c?')} ${basic}`
    expect(harmless(text, secretForms(credentials))).toBe('*** *** ***')
  })
})

describe('the messages of programs', () => {
  const remote = parseRemoteUrl('ssh://git@host/secret/place.git')
  const meaningOf = (stderr: string, code: number | undefined = 128): [string, string] => {
    if (remote.kind !== 'ssh') throw new Error('unreachable')
    const error = processFailure(remote, { code, stderr, cause: undefined })
    return [error.code, error.message]
  }

  test.each([
    ['git@host: Permission denied (publickey).', 'remote_auth'],
    ['Host key verification failed.', 'remote_untrusted'],
    ['ssh: Could not resolve hostname host: Name or service not known', 'remote_unreachable'],
    ['ssh: connect to host host port 22: Connection refused', 'remote_unreachable'],
    ['ssh: connect to host host port 22: Operation timed out', 'remote_unreachable'],
    ["fatal: '/secret/place.git' does not appear to be a git repository", 'remote_not_found'],
    ['ERROR: Repository not found.', 'remote_not_found'],
    ['FATAL: R any memory bob DENIED by fallthru', 'remote_auth'],
    ['bash: git-upload-pack: command not found', 'remote_protocol'],
    ['fatal: detected dubious ownership in repository', 'remote_auth'],
    ['something new', 'remote_unreachable'],
    ['', 'remote_unreachable'],
  ])('%j', (stderr, code) => {
    const [found, message] = meaningOf(stderr)
    expect(found).toBe(code)
    expect(message).not.toContain('/secret/place.git')
  })

  test('a program that is missing here is distinguished from a host without git', () => {
    expect(meaningOf('/bin/sh: 1: /opt/ssh: not found', 127)[1]).toContain('core.sshCommand')
    expect(meaningOf('sh: 1: git-upload-pack: not found', 127)[0]).toBe('remote_protocol')
  })

  test('an unknown message is quoted', () => {
    expect(meaningOf('at /secret/place.git \u0007odd')[1]).toBe(
      'The remote process ended with: at … odd',
    )
    expect(meaningOf('', 255)[1]).toBe('The connection ended without a message')
  })
})

describe('why a push was refused', () => {
  const plain = { harmless }
  test.each([
    ['protected branch hook declined', 'push_rejected', 'is protected there'],
    ['You are not allowed to push code to protected branches', 'push_rejected', 'is protected'],
    ['non-fast-forward', 'push_rejected', 'allow forced pushes'],
    ['denyNonFastForwards', 'push_rejected', 'allow forced pushes'],
    ['GH006: Protected branch: Cannot force-push', 'push_rejected', 'allow forced pushes'],
    ['not allowed to force push to a protected branch', 'push_rejected', 'allow forced pushes'],
    ['FATAL: + refs/heads/main x DENIED by refs/.*', 'push_rejected', 'allow forced pushes'],
    ['FATAL: W refs/heads/main x DENIED by fallthru', 'push_rejected', 'no write access'],
    ['branch is currently checked out', 'push_rejected', 'bare repository'],
    ['disk quota exceeded', 'remote_full', 'no space for'],
    ['this exceeds the maximum size', 'push_rejected', 'raise the limit there'],
    ['unable to create temporary object directory', 'push_rejected', 'make its file system'],
    ['repository is archived, so is read-only', 'push_rejected', 'no write access'],
    ['pre-receive hook declined', 'push_rejected', 'a hook there'],
    [
      'unpack-objects abnormal exit',
      'push_rejected',
      '`sync --repair` sends everything, without deltas',
    ],
    ['index-pack abnormal exit: no space left on device', 'remote_full', 'no space for'],
    ['because', 'push_rejected', 'refused the push (it reported: because)'],
    ['fetch first', 'remote_moved', 'first'],
    ["cannot lock ref 'refs/heads/main': is at 1 but expected 2", 'remote_moved', 'first'],
    ["cannot lock ref 'refs/heads/main': reference already exists", 'remote_moved', 'first'],
    ["Unable to create '/r/refs/heads/main.lock': File exists.", 'remote_locked', 'File exists'],
    ['failed to lock', 'remote_locked', 'cannot lock its branch (it reported: failed to lock)'],
    ["cannot lock ref: Unable to create 'main.lock': Permission denied", 'push_rejected', 'write'],
    ["cannot lock ref: Unable to create 'main.lock': No space left", 'remote_full', 'no space'],
    ["cannot lock ref: 'refs/heads/main/x' exists; cannot create", 'push_rejected', 'below'],
    ['cannot lock ref: unable to resolve reference: reference broken', 'push_rejected', 'damaged'],
  ])('%s', (reason, code, words) => {
    expect(rejection(plain, reason, [])).toMatchObject({
      code,
      message: expect.stringContaining(words),
    })
  })
})

describe("the meaning of a connection's end or a status", () => {
  test.each([
    ['ENOTFOUND', 'remote_unreachable', 'name is unknown'],
    ['ECONNRESET', 'remote_unreachable', 'cut off'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'remote_untrusted', 'certificate is refused'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'remote_untrusted', 'certificate is refused'],
    ['CERT_HAS_EXPIRED', 'remote_expired', 'not valid today'],
    ['CERT_NOT_YET_VALID', 'remote_expired', 'not valid today'],
    ['HPE_INVALID_CONSTANT', 'remote_protocol', 'does not speak HTTP'],
    ['EODD', 'remote_unreachable', 'EODD'],
  ])('%s', (code, expected, words) => {
    const error = connectionFailure(Object.assign(new Error('x'), { code }))
    expect(error).toMatchObject({ code: expected, message: expect.stringContaining(words) })
  })

  test('several addresses that all fail', () => {
    const each = Object.assign(new Error('x'), { code: 'ECONNREFUSED' })
    expect(connectionFailure(new AggregateError([each])).message).toContain('refuses connections')
  })

  test('a page is not quoted, a sentence and a time to wait are, secrets are not', () => {
    const said = (status: number, text: string, retryAfter?: string): StoreError =>
      statusFailure({ status, text, retryAfter }, ['geheim'])
    expect(said(500, '<html>…').message).toBe('The remote has an internal error (500)')
    expect(said(403, 'no, geheim').message).toBe(
      'The remote denies access to this account (403): no, ***',
    )
    for (const [header, words] of [
      ['120', 'wait for 120 seconds'],
      ['Fri, 27 Nov 2026 10:00:00 GMT', 'wait until 2026-11-27T10:00:00.000Z'],
    ] as const) {
      expect(said(429, '', header).message).toMatch(new RegExp(`\\(429\\), and asks to ${words}$`))
    }
    expect(said(503, '', 'soon, geheim').message).toBe('The remote has an internal error (503)')
    expect(said(507, '').code).toBe('remote_full')
  })
})
