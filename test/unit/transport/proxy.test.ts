// Hosts that NO_PROXY names, in the forms that curl and other programs know.

import { describe, expect, test } from 'vitest'
import { isExempt } from '../../../src/transport/proxy.ts'

describe('NO_PROXY', () => {
  test.each<[string, string, boolean]>([
    ['git.example.com', '', false],
    ['git.example.com', '*', true],
    ['git.example.com', 'other.org, git.example.com', true],
    ['git.example.com', 'other.org git.example.com', true],
    ['git.example.com', 'Example.COM', true],
    ['git.example.com.', 'example.com.', true],
    ['git.example.com', '.example.com', true],
    ['example.com', '.example.com', true],
    ['git.example.com', '*.example.com', true],
    ['example.com.evil.org', 'example.com', false],
    ['badexample.com', 'example.com', false],
    ['git.example.com', '.', false],
    ['git.example.com', 'git.example.com:443', true],
    ['git.example.com', 'git.example.com:8443', false],
    ['git.example.com:8443', '.example.com:8443', true],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3', '2.3', false],
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.1.2.3', '10.0.0.0/8', false],
    ['10.1.2.3', '10.0.0.0/33', false],
    ['10.1.2.3', '10.0.0.0/x', false],
    ['10.1.2.3', '0.0.0.0/0', true],
    ['10.1.2.3:80', '10.1.2.3:80', true],
    ['[::1]', '::1', true],
    ['[::1]', '0:0:0:0:0:0:0:1', true],
    ['[::1]:8443', '[::1]:8443', true],
    ['[::1]', '[::1]:8443', false],
    ['[fd00::7]', 'fd00::/8', true],
    ['[fd00::7]', '10.0.0.0/8', false],
    ['10.example.com', '10.0.0.0/8', false],
  ])('of %s by %j: %s', (host, list, expected) => {
    expect(isExempt(new URL(`https://${host}/store.git`), list)).toBe(expected)
  })
})
