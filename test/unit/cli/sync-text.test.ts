// The text and JSON of sync reports that rarely occur.

import { expect, test } from 'vitest'
import { reportJson, reportText } from '../../../src/cli/text/sync-text.ts'
import type { Conflict, LateChange, SyncReport } from '../../../src/index.ts'

const quiet: SyncReport = {
  remote: 'origin',
  received: { commits: 0, bytes: 0 },
  sent: { commits: 0, bytes: 0 },
  merge: undefined,
  outcomes: [],
  mergedElsewhere: [],
  settings: undefined,
  builtOnRedacted: [],
  erased: 0,
  pendingDevices: [],
  late: [],
  hasRepeated: false,
  newDevices: [],
  forkedDevices: [],
  head: '1'.repeat(40),
  headFingerprint: ['one', 'two'],
}

const version = {
  versionId: 'memver_0',
  memoryId: 'mem_0',
  operation: 'created',
  path: '/late\u001b.md',
} as const
const change: LateChange = {
  redacts: [],
  kind: 'change',
  commit: '2'.repeat(40),
  deviceId: 'dev_gone',
  time: 0,
  versions: [version],
}

test('a sync without changes reports only that', () => {
  expect(reportText(quiet)).toBe('origin: nothing to do\n  words one two\n')
  expect(reportJson(quiet)).toMatchObject({ pending_devices: [], late_changes: [] })
})

test('settings changed on both sides and texts that a redaction missed are named', () => {
  expect(reportText({ ...quiet, settings: 'replaced' })).toContain(
    '  the settings of another device are now in force: see `gitlocket settings`\n',
  )
  expect(reportText({ ...quiet, settings: 'kept' })).toContain(
    '  another device had changed the settings too, and those set here are kept: see ',
  )
  const memory = { memoryId: 'mem_0', versionId: 'memver_1', path: '/key\u001b.md' }
  const found = { ...memory, redactedVersionIds: ['memver_0'] }
  const report: SyncReport = { ...quiet, builtOnRedacted: [found] }
  expect(reportText(report)).toContain(
    '  1 version was written on redacted ones by devices that did not know of that, and may hold ' +
      'its text:\n    memver_1  /key‹U+001B›.md\n' +
      '  To redact them as well: `gitlocket redact --with-copies memver_0`\n',
  )
  expect(reportJson(report)).toMatchObject({
    settings: null,
    built_on_redacted: [
      {
        memory_id: 'mem_0',
        memory_version_id: 'memver_1',
        path: '/key\u001b.md',
        redacted_version_ids: ['memver_0'],
      },
    ],
  })
})

test('versions that merges elsewhere combined are counted, and some are named', () => {
  const elsewhere = ['/a.md', '/b\u001b.md', undefined, '/d.md'].map((path, index): Conflict => {
    const made = { versionId: `memver_${index}`, memoryId: 'mem_0', path }
    const none = {
      inputs: [],
      inputDevices: [],
      base: undefined,
      kept: undefined,
      joined: undefined,
      movedFrom: undefined,
    }
    return { ...made, ...none, combination: 'combined', commit: '3'.repeat(40), time: 0 }
  })
  expect(reportText({ ...quiet, mergedElsewhere: elsewhere })).toContain(
    '  merges elsewhere combined both sides in 4 versions (/a.md, /b‹U+001B›.md, (redacted), …): ' +
      '`gitlocket conflicts` lists them\n',
  )
  expect(reportText({ ...quiet, mergedElsewhere: elsewhere.slice(0, 1) })).toContain(
    'combined both sides in 1 version (/a.md): `gitlocket conflicts` lists it\n',
  )
  const { merged_elsewhere: listed } = reportJson({ ...quiet, mergedElsewhere: elsewhere })
  expect(listed).toContainEqual({ memory_version_id: 'memver_2', memory_id: 'mem_0', path: null })
})

test('changes that came too late are listed with their memories and authors', () => {
  const redacted = { ...version, versionId: 'memver_1', path: undefined }
  const late = [change, { ...change, versions: [redacted] }]
  expect(
    reportText({ ...quiet, late })
      .split('\n')
      .slice(1, 4),
  ).toEqual([
    '  Left out 2 commits, of a removed device or of the side that was given up:',
    '    memver_0  created  /late‹U+001B›.md  by dev_gone',
    '    memver_1  created  mem_0  by dev_gone',
  ])
  const { late_changes: listed } = reportJson({ ...quiet, late })
  expect(listed).toMatchObject([
    { commit: change.commit, device_id: 'dev_gone', created_at: '1970-01-01T00:00:00.000Z' },
    { versions: [{ id: 'memver_1', memory_id: 'mem_0', operation: 'created', path: null }] },
  ])
})

test('a redaction that is not part of the history names its versions', () => {
  const late = [{ ...change, kind: 'redact', versions: [], redacts: ['memver_7'] }] as const
  expect(reportText({ ...quiet, late })).toContain(
    '    memver_7  redact, which is undone  by dev_gone\n',
  )
  expect(reportJson({ ...quiet, late })['late_changes']).toMatchObject([{ redacts: ['memver_7'] }])
})

test('late changes without memories are listed by commit and kind', () => {
  const late = [{ ...change, kind: 'keyring', versions: [] }] as const
  expect(reportText({ ...quiet, late })).toContain(
    `  Left out 1 commit, of a removed device or of the side that was given up:\n` +
      `    ${change.commit}  keyring  by dev_gone\n`,
  )
  const names = new Map([['dev_gone', 'old phone']])
  expect(reportText({ ...quiet, late: [change] }, names)).toContain('  by old phone (dev_gone)\n')
  expect(reportJson({ ...quiet, late: [change] }, names)['late_changes']).toMatchObject([
    { device_id: 'dev_gone', device_name: 'old phone' },
  ])
})

test('devices that have not acknowledged a redaction, or cannot, are named', () => {
  const state = { name: '', role: 'writer', lastRecord: 0, canAcknowledge: true } as const
  const writer = { deviceId: 'dev_w', ...state, name: 'anna-laptop' } as const
  const reader = { ...state, deviceId: 'dev_r', role: 'reader', canAcknowledge: false } as const
  const silent = { ...state, deviceId: 'dev_s', lastRecord: undefined }
  const report = { ...quiet, erased: 2, pendingDevices: [writer, reader, silent] }
  expect(reportText(report).split('\n').slice(1, 7)).toEqual([
    '  erased here: 2 versions redacted elsewhere',
    '  Redactions not acknowledged yet, as far as records show, by',
    '    anna-laptop (dev_w), writer, last wrote 1970-01-01T00:00:00.000Z',
    '    dev_s, writer, has written nothing',
    '  These may not write, so that it cannot be known whether they have taken redactions over:',
    '    dev_r, reader, last wrote 1970-01-01T00:00:00.000Z',
  ])
  const { pending_devices: pendingDevices } = reportJson(report)
  expect(pendingDevices).toContainEqual({
    device_id: 'dev_s',
    name: '',
    role: 'writer',
    last_record_at: null,
    can_acknowledge: true,
  })
})
