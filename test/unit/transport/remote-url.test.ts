// FORMAT has nothing to say about addresses: these are git's, less what a program would misread.

import { describe, expect, test } from 'vitest'
import { parseRemoteUrl } from '../../../src/transport/remote-url.ts'

describe('parseRemoteUrl reads', () => {
  test.each([
    ['https://host.example/a/b.git', { kind: 'http', text: 'https://host.example/a/b.git' }],
    ['https://host.example:8443/a/', { kind: 'http', text: 'https://host.example:8443/a' }],
    ['HTTPS://Host.Example/a', { kind: 'http', text: 'https://host.example/a' }],
    ['http://localhost:3000/a', { kind: 'http', text: 'http://localhost:3000/a' }],
    ['http://127.0.0.1/a', { kind: 'http', text: 'http://127.0.0.1/a' }],
    ['http://[::1]:8080/a', { kind: 'http', text: 'http://[::1]:8080/a' }],
    ['ssh://git@host/a.git', { user: 'git', host: 'host', port: undefined, path: '/a.git' }],
    ['ssh://host:2222/a%20b', { user: undefined, host: 'host', port: 2222, path: '/a b' }],
    ['ssh://git@[fe80::1]:22/a', { user: 'git', host: 'fe80::1', port: 22, path: '/a' }],
    ['ssh://host/~me/a', { host: 'host', path: '~me/a' }],
    ['git@host:a/b.git', { user: 'git', host: 'host', path: 'a/b.git' }],
    ['alias:a', { user: undefined, host: 'alias', path: 'a' }],
    ['git@[::1]:a', { user: 'git', host: '::1', path: 'a' }],
    ["git@host:it's $(here)", { path: "it's $(here)" }],
    ['file:///a/b%20c', { kind: 'file', path: '/a/b c' }],
    ['file://localhost/a', { kind: 'file', path: '/a' }],
    ['/a/b c', { kind: 'file', path: '/a/b c' }],
  ])('%s', (text, expected) => {
    expect(parseRemoteUrl(text)).toMatchObject(expected)
  })
})

describe('parseRemoteUrl refuses', () => {
  test.each([
    ['', 'empty'],
    [`/${'x'.repeat(3000)}`, 'too long'],
    ['https://host/a\nb', 'control'],
    ['https://host/a\u202Eb', 'control'],
    ['-oProxyCommand=touch /tmp/x', 'must be'],
    ['ssh://-oProxyCommand=x/a', 'host'],
    ['ssh://-l@host/a', 'user name'],
    ['-l@host:a', 'user name'],
    ['host:-x', 'hyphen'],
    ['-host:x', 'host'],
    ['ssh://host/%0a', 'control'],
    ['ssh://host', 'ssh://user@host/path'],
    ['ssh://host:99999/a', 'port'],
    ['ssh://user:pass@host/a', 'ssh key'],
    ['https://user:pass@host/a', 'credential helper'],
    ['https://ghp_token@host/a', 'credential helper'],
    ['https://host/a?b=c', 'query'],
    ['https://host/a#b', 'fragment'],
    [`https://host/a#memstore_${'0'.repeat(26)}`, 'a store id'],
    [`/a#memstore_${'0'.repeat(26)}`, 'a store id'],
    [`git@host:a#memstore_${'0'.repeat(26)}`, 'a store id'],
    ['file:///a#memstore_', 'a store id'],
    [`/a#memstore_${'0'.repeat(26)}+${'0'.repeat(26)}`, 'a store id'],
    ['http://host.example/a', 'https://'],
    ['http://127.0.0.1.example/a', 'https://'],
    ['https://', 'not a URL'],
    ['ext::sh -c touch% /tmp/x', 'scheme'],
    ['ext://x', 'scheme'],
    ['git://host/a', 'scheme'],
    ['fd::17', 'scheme'],
    ['file://host/a', 'cannot name another machine'],
    ['relative/path', 'must be'],
    ['../path', 'must be'],
  ])('%j', (text, problem) => {
    expect(() => parseRemoteUrl(text)).toThrow(
      expect.objectContaining({
        code: 'invalid_input',
        message: expect.stringContaining(problem),
      }),
    )
  })

  test('and never repeats a password', () => {
    for (const text of ['https://me:geheim@host/a', 'ssh://me:geheim@host/a', 'me:geheim@host:a']) {
      expect(() => parseRemoteUrl(text)).toThrow(/^(?!.*geheim)/)
    }
  })

  test('http to another machine, unless it is allowed', () => {
    expect(parseRemoteUrl('http://host.example/a', { allowHttp: true }).kind).toBe('http')
  })
})
