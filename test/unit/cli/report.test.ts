// A report as HTML, CSV and JSON: no name that a member chose can break any of them; the page needs
// no other file and can be read aloud.

import { describe, expect, test } from 'vitest'
import { reportJson } from '../../../src/cli/commands/report.ts'
import { reportPage } from '../../../src/cli/report/page.ts'
import { csvColumns, reportCsv } from '../../../src/operations/report-csv.ts'
import type { AuditReport, WriteCount } from '../../../src/store/report/audit-report.ts'

const at = Date.parse('2026-03-05T12:00:00Z')
const day = 86_400_000
const author = {
  time: at - day,
  deviceId: 'dev_0',
  isRecovery: false,
  grantedBy: undefined,
  actor: { type: 'user', id: 'ada' },
  session: 'monday',
  record: 'ab'.repeat(32),
  commit: 'cd'.repeat(20),
} as const

const certificate = {
  type: 'gitlocket_redaction',
  version: 1,
  store_id: 'memstore_0',
  reason: 'legal',
  redacted_at: '2026-03-04T12:00:00.000Z',
  actor: author.actor,
  session_id: author.session,
  device_id: author.deviceId,
  records: [author.record],
  commits: [author.commit],
  old_head: 'ef'.repeat(20),
  new_head: author.commit,
  versions: [],
  may_repeat: [],
  object_ids: ['ef'.repeat(20)],
  signature: { public_key: '', namespace: '', value: '' },
} as const

function writes(count: Partial<WriteCount>): WriteCount {
  const { actor, session } = author
  const none = { created: 0, modified: 0, deleted: 0, redacted: 0 }
  return { day: '2026-03-04', actor, session, ...none, ...count }
}

/** A report with one name for the store, the devices and the remote. */
function reportOn(name: string): AuditReport {
  const added = { deviceId: 'dev_1', role: 'reader', name } as const
  const pending = { deviceId: 'dev_1', role: 'reader', name } as const
  return {
    storeId: 'memstore_0',
    name,
    deviceId: 'dev_0',
    role: 'owner',
    since: at - 2 * day,
    until: undefined,
    verification: {
      extent: 'history',
      head: author.commit,
      headFingerprint: 'one two three four five six seven eight nine ten eleven twelve'.split(' '),
      commits: 5,
      versions: 4,
      memories: 3,
    },
    devices: [
      { deviceId: 'dev_0', name, role: 'owner', added: author, removed: undefined, lastRecord: at },
      { ...added, added: author, removed: author, lastRecord: undefined },
    ],
    access: [
      { ...author, action: { type: 'device_added', ...added } },
      { ...author, isRecovery: true, actor: undefined, action: { type: 'passphrase_set' } },
    ],
    writes: [writes({ created: 2 }), writes({ day: '2026-03-06', modified: 1, redacted: 1 })],
    redactions: [
      {
        ...author,
        reason: 'legal',
        versionIds: Array.from({ length: 30 }, (_, index) => `memver_${index}`),
        certificate,
        absence: 'found',
        unconfirmedDevices: [{ ...pending, lastRecord: undefined, canAcknowledge: false }],
        unconfirmedRemotes: [name],
      },
    ],
    absence: {
      versions: 30,
      objects: 9,
      journalBytes: 0,
      cached: 2,
      pending: 0,
      putAside: 1,
      found: [{ place: 'object', objectId: 'ef'.repeat(20), versionId: 'memver_0' }],
      builtOnRedacted: [{ versionId: 'memver_x', redactedVersionIds: ['memver_0'] }],
      textsOutside: 2,
    },
    leftOut: 1,
  }
}

const ofAuditor: AuditReport = {
  ...reportOn('x'),
  name: undefined,
  verification: { ...reportOn('x').verification, extent: 'trail' },
  absence: undefined,
  redactions: [],
  access: [],
  writes: [],
}

const hostile: readonly (readonly [name: string, text: string])[] = [
  ['a script', '<script>alert(1)</script>'],
  ['the end of an attribute', `"'><img src=https://x onerror=alert(1)>`],
  ['the end of the style', '</style></title><h1>x'],
  ['an entity', '&lt;b&gt; &#60;script'],
  ['half a surrogate pair', 'a\ud800b'],
  ['text that turns', 'a\u202egnp.exe'],
  ['a formula', '=HYPERLINK("http://x","y")'],
  ['a line and a field', 'a",b\r\n=1+1'],
]

describe('the page', () => {
  test.each(hostile)('keeps %s a text', (_, text) => {
    const page = reportPage(reportOn(text), at)
    const plain = reportPage(reportOn('x'), at)
    expect(tagsOf(page)).toEqual(tagsOf(plain))
    expect(page).not.toMatch(/[\u202a-\u202e\u2066-\u2069\ud800-\udfff]/)
  })

  test('marks hidden characters, and isolates names', () => {
    expect(reportPage(reportOn('a\u202eb'), at)).toContain('<bdi>a‹U+202E›b</bdi>')
    expect(reportPage(reportOn('a\ud800b'), at)).toContain('<bdi>a\ufffdb</bdi>')
  })

  test('shows readable times and the names of devices, everywhere', () => {
    const report = reportOn('x')
    const late = { deviceId: 'dev_0', name: 'x', role: 'owner', canAcknowledge: true } as const
    const unconfirmedDevices = [{ ...late, lastRecord: 0 }]
    const redactions = report.redactions.map((one) => ({ ...one, unconfirmedDevices }))
    const page = reportPage({ ...report, redactions }, at).replaceAll(/<[^>]*>/g, '')
    expect(page).not.toMatch(/\dT\d\d:/)
    expect(page).toContain('Verified, signed by x (dev_0)')
    expect(page).toContain('x (dev_0), owner: last wrote 1970-01-01 00:00:00 UTC')
    expect(page).not.toContain('`')
  })

  test('names the device that issued a certificate again', () => {
    const report = reportOn('x')
    const again = { ...certificate, issued_by: 'dev_1', object_ids: [] }
    const redactions = report.redactions.map((one) => ({ ...one, certificate: again }))
    const page = reportPage({ ...report, redactions }, at).replaceAll(/<[^>]*>/g, '')
    expect(page).toContain('Verified, issued again from the record by x (dev_1)')
    expect(page).not.toContain('signed by')
  })

  test('needs no script, no other file and no network', () => {
    const page = reportPage(reportOn('x'), at)
    expect(page).toMatch(/content="default-src 'none'; style-src 'unsafe-inline'"/)
    const tags = new Set(tagsOf(page).map((tag) => /^<\/?([a-z]\w*)/.exec(tag)?.[1]))
    for (const tag of ['script', 'link', 'img', 'iframe', 'object', 'form', 'base']) {
      expect(tags).not.toContain(tag)
    }
    expect(page).not.toMatch(/https?:|url\(|@import|\son\w+=|javascript:/)
    expect(page.match(/href="[^"]*"/g)?.every((link) => link.startsWith('href="#'))).toBe(true)
  })

  test.each([
    ['of an owner', reportOn('x')],
    ['of an auditor, of nothing', ofAuditor],
  ])('can be read aloud: %s', (_, report) => {
    const page = reportPage(report, at)
    expect(page).toMatch(/^<!doctype html>\s*<html lang="en">/)
    const levels = [...page.matchAll(/<h(\d)/g)].map(([, level]) => Number(level))
    expect(levels.filter((level) => level === 1)).toEqual([1])
    expect(levels.every((level, index) => level <= (levels[index - 1] ?? 0) + 1)).toBe(true)
    const ids = [...page.matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const named = page.matchAll(/(?:aria-labelledby="|href="#)([^"]+)"/g)
    for (const [, id] of named) expect(ids).toContain(id)
    const tables = [...page.matchAll(/<table>.*?<\/table>/gs)].map(([table]) => table)
    for (const table of tables) {
      expect(table).toMatch(/<caption>\s*\w/)
      expect(table.match(/<th /g)?.length).toBe(table.match(/<th scope="(?:col|row)">/g)?.length)
      expect(table).not.toMatch(/<th scope="(?:col|row)">\s*<\/th>/)
    }
    const regions = page.match(/role="region"\s+aria-label="[^"]+"\s+tabindex="0"/g) ?? []
    expect(regions).toHaveLength(tables.length)
  })

  test('lists findings, missing confirmations and its limits', () => {
    const page = reportPage(reportOn('x'), at).replaceAll(/\s+/g, ' ')
    expect(page).toContain('badge bad">FOUND: something is left')
    expect(page).toContain(
      '<bdi>x</bdi> (<code>dev_1</code>), reader: may not write, so that it cannot be known',
    )
    expect(page).toContain('the remote <bdi>x</bdi>: not known to have it')
    expect(page).toContain('Verified, signed by <bdi>x</bdi> (<code>dev_0</code>)')
    expect(page).toContain('1 damaged file that a repair has put aside')
    expect(page).toContain('and 18 more, which the report as JSON names')
    expect(page).toContain('2026-03-03 12:00:00 UTC</time> to now')
    const other = reportPage(ofAuditor, at).replaceAll(/\s+/g, ' ')
    expect(other).toContain('Trail verified')
    expect(other).toContain('1 record that this device had verified are not')
    expect(other).toContain('An auditor has made it')
    expect(page).not.toContain('An auditor has made it')
  })
})

/** Everything between angle brackets, without what names contribute to a label. */
function tagsOf(page: string): readonly string[] {
  return (page.match(/<[^>]*>/g) ?? []).map((tag) => tag.replaceAll(/\s+/g, ' '))
}

describe('the rows', () => {
  test('have the documented columns, and the line ends of RFC 4180', () => {
    const text = reportCsv(reportOn('x'), at)
    const lines = text.split('\r\n')
    expect(lines.pop()).toBe('')
    expect(lines[0]).toBe(Object.keys(csvColumns).join(','))
    expect(new Set(lines.map((line) => line.split(',').length))).toEqual(
      new Set([Object.keys(csvColumns).length]),
    )
    expect(lines.map((line) => line.split(',')[0])).toEqual([
      'type',
      'report',
      'device',
      'device',
      'access',
      'access',
      'writes',
      'writes',
      'redaction',
      'unconfirmed',
      'unconfirmed',
    ])
  })

  test.each([
    ['a formula', '=1+1', `"'=1+1"`],
    ['a plus', '+1', `"'+1"`],
    ['a minus', '-1', `"'-1"`],
    ['an at', '@SUM(A1)', `"'@SUM(A1)"`],
    ['a tab', '\t=1', `"'\t=1"`],
    ['a carriage return', '\r=1', '‹U+000D›=1'],
    ['quotes and a comma', 'a "b", c', `"a ""b"", c"`],
    ['a line break', 'a\nb', '"a\nb"'],
    ['no formula', 'a=b', 'a=b'],
    ['half a surrogate pair', '\ud800', '\ufffd'],
  ])('have %s as a text', (_, name, cell) => {
    const [, row = ''] = reportCsv(reportOn(name), at).split('\r\n')
    expect(row).toContain(`,memstore_0,${cell},owner,`)
  })
})

test('JSON uses the names of the other answers, and every id', () => {
  const json = reportJson(reportOn('\u202ex\ud800'), at)
  expect(JSON.parse(JSON.stringify(json))).toEqual(json)
  expect(json).toMatchObject({
    type: 'gitlocket_report',
    memory_store_id: 'memstore_0',
    created_at: '2026-03-05T12:00:00.000Z',
    since: '2026-03-03T12:00:00.000Z',
    until: null,
    verification: { extent: 'history', records_left_out: 1 },
    devices: [{ active: true }, { active: false, removed_by: { device_id: 'dev_0' } }],
    access: [
      { type: 'device_added', subject: { device_id: 'dev_1', role: 'reader' } },
      { type: 'passphrase_set', recovery: true, created_by: null },
    ],
    writes: [{ day: '2026-03-04', created_by: { type: 'user_actor', user_id: 'ada' } }, {}],
    redactions: [
      {
        certificate: { verified: true, objects: 1 },
        unconfirmed_devices: [{ device_id: 'dev_1', can_acknowledge: false }],
      },
    ],
  })
})
