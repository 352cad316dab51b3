// The text and JSON of sync reports that rarely occur.

import { expect, test } from 'vitest'
import { plainInk } from '../../../src/cli/terminal/ink.ts'
import type { DeviceNames } from '../../../src/cli/text/device-text.ts'
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
  grantWork: { again: [], notAgain: [] },
  replaced: undefined,
  begunAnew: undefined,
  newDevices: [],
  forkedDevices: [],
  grants: undefined,
  ignoredRefs: undefined,
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

/** On a terminal of this width, or in a pipe. */
function textOf(report: SyncReport, names?: DeviceNames, width?: number): string {
  const terminal = { input: false, errors: false, capable: false, columns: 80 }
  const output = width !== undefined
  const environment = { terminal: { ...terminal, output, width: width ?? 80 } }
  const place = { environment, exactTimes: !output, clock: () => 3 * 3_600_000 }
  return reportText(place, plainInk, report, names)
}

test('a sync without changes reports only that', () => {
  expect(textOf(quiet)).toBe('origin: nothing to do\n  words one two\n')
  expect(reportJson(quiet)).toMatchObject({ pending_devices: [], late_changes: [] })
})

test('settings changed on both sides and texts that a redaction missed are named', () => {
  expect(textOf({ ...quiet, settings: 'replaced' })).toContain(
    '  the settings of another device are now in force: see `gitlocket settings`\n',
  )
  expect(textOf({ ...quiet, settings: 'kept' })).toContain(
    '  another device had changed the settings too, and those set here are kept: see ',
  )
  const memory = { memoryId: 'mem_0', versionId: 'memver_1', path: '/key\u001b.md' }
  const found = { ...memory, redactedVersionIds: ['memver_0'] }
  const report: SyncReport = { ...quiet, builtOnRedacted: [found] }
  expect(textOf(report)).toContain(
    '  1 version may repeat redacted text, written without knowing of the redaction' +
      '\n    /key\u001b.md\tmemver_1\n' +
      '  Redact them too with `gitlocket redact --with-copies memver_0`\n',
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
  expect(textOf({ ...quiet, mergedElsewhere: elsewhere })).toContain(
    '  merges elsewhere combined both sides in 4 versions (/a.md, /b‹U+001B›.md, (redacted), …): ' +
      '`gitlocket conflicts` lists them\n',
  )
  expect(textOf({ ...quiet, mergedElsewhere: elsewhere.slice(0, 1) })).toContain(
    'combined both sides in 1 version (/a.md): `gitlocket conflicts` lists it\n',
  )
  const { merged_elsewhere: listed } = reportJson({ ...quiet, mergedElsewhere: elsewhere })
  expect(listed).toContainEqual({ memory_version_id: 'memver_2', memory_id: 'mem_0', path: null })
})

test('changes that came too late are listed with their memories and authors', () => {
  const redacted = { ...version, versionId: 'memver_1', path: undefined }
  const late = [change, { ...change, versions: [redacted] }]
  expect(
    textOf({ ...quiet, late })
      .split('\n')
      .slice(1, 4),
  ).toEqual([
    '  Left out 2 commits of a removed device, or of the side that was given up',
    '    /late\u001b.md\tcreated\tdev_gone\tmemver_0',
    '    mem_0\tcreated\tdev_gone\tmemver_1',
  ])
  const { late_changes: listed } = reportJson({ ...quiet, late })
  expect(listed).toMatchObject([
    { commit: change.commit, device_id: 'dev_gone', created_at: '1970-01-01T00:00:00.000Z' },
    { versions: [{ id: 'memver_1', memory_id: 'mem_0', operation: 'created', path: null }] },
  ])
})

test('a head that a repair replaced is named, with the commits that it kept and dropped', () => {
  const refused = [{ commit: '4'.repeat(40), code: 'record_role' } as const]
  const [head, code] = ['5'.repeat(40), 'group_signature_invalid'] as const
  const replaced = { commit: head, code, kept: 3, dropped: 1, refused }
  expect(
    textOf({ ...quiet, replaced })
      .split('\n')
      .slice(1, 3),
  ).toEqual([
    '  replaced the head 555555555555 of the remote, which was refused ' +
      '(group_signature_invalid): kept 3 commits that verified below it, and dropped 1 commit',
    `  refused ${'4'.repeat(40)} (record_role)`,
  ])
  expect(reportJson({ ...quiet, replaced })['replaced']).toEqual({ ...replaced, refused })
})

test('changes of grants that are written again are counted, and lost ones say why', () => {
  const paths = ['/1.md', '/2\u001b.md', '/3.md', '/4.md']
  const memories = paths.map((path, index) => ({ memoryId: `mem_${index}`, path }))
  const { versionId, memoryId } = version
  const lost = {
    grantId: 'dev_grant',
    versionId,
    memoryId,
    path: '/late.md',
    why: 'overlaps',
  } as const
  const grantWork = {
    again: [{ grantId: 'dev_grant', changes: 5, memories }],
    notAgain: [lost, { ...lost, path: undefined, why: 'redacted' } as const],
  }
  expect(
    textOf({ ...quiet, grantWork })
      .split('\n')
      .slice(1, 5),
  ).toEqual([
    '  wrote 5 changes of the grant dev_grant again, without what a removed device wrote ' +
      '(/1.md, /2‹U+001B›.md, /3.md, …)',
    '  Did not write 2 versions of grants again',
    "    /late.md\tedit of the removed device's text\tdev_grant\tmemver_0",
    '    mem_0\tmay hold redacted text\tdev_grant\tmemver_0',
  ])
  expect(reportJson({ ...quiet, grantWork })['grant_work']).toMatchObject({
    written_again: [{ grant_id: 'dev_grant', changes: 5 }],
    not_written_again: [
      { grant_id: 'dev_grant', memory_version_id: 'memver_0', reason: 'overlaps' },
      { path: null, reason: 'redacted' },
    ],
  })
})

test('a redaction that is not part of the history names its versions', () => {
  const late = [{ ...change, kind: 'redact', versions: [], redacts: ['memver_7'] }] as const
  expect(textOf({ ...quiet, late })).toContain('    \tredaction, undone\tdev_gone\tmemver_7\n')
  expect(reportJson({ ...quiet, late })['late_changes']).toMatchObject([{ redacts: ['memver_7'] }])
})

test('late changes without memories are listed by commit and kind', () => {
  const late = [{ ...change, kind: 'keyring', versions: [] }] as const
  expect(textOf({ ...quiet, late })).toContain(
    `  Left out 1 commit of a removed device, or of the side that was given up\n` +
      `    \tkeyring\tdev_gone\t${change.commit}\n`,
  )
  const names = new Map([['dev_gone', 'old phone']])
  expect(textOf({ ...quiet, late: [change] }, names)).toContain('\told phone (dev_gone)\t')
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
  expect(textOf(report).split('\n').slice(1, 6)).toEqual([
    '  erased 2 versions that another device redacted',
    '  Waiting for confirmation from',
    '    anna-laptop\twriter\t1970-01-01T00:00:00.000Z\t\tdev_w',
    '    \treader\t1970-01-01T00:00:00.000Z\tcannot confirm: may not write\tdev_r',
    '    \twriter\tnever\t\tdev_s',
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

test('shows its lists as tables on a terminal', () => {
  const device = { role: 'writer', canAcknowledge: true, lastRecord: 0 } as const
  const report: SyncReport = {
    ...quiet,
    erased: 1,
    pendingDevices: [
      { ...device, deviceId: 'dev_6cbt2bbssesr18d', name: 'build-server' },
      { ...device, deviceId: 'dev_1aaaaaaaaaaaa', name: 'kiosk', canAcknowledge: false },
    ],
    builtOnRedacted: [
      {
        memoryId: 'mem_0',
        versionId: 'memver_0dv1dq84xv1qj',
        path: `/projects/${'deep/'.repeat(12)}notes\u001b.md`,
        redactedVersionIds: ['memver_7wcr3tf3vpj8'],
      },
    ],
    late: [{ ...change, deviceId: 'dev_6cbt2bbssesr18d' }],
  }
  const names = new Map([['dev_6cbt2bbssesr18d', 'build-server']])
  expect(textOf(report, names, 60).split('\n')).toEqual([
    'origin: nothing to do',
    '  erased 1 version that another device redacted',
    '  Waiting for confirmation from',
    '    DEVICE        ROLE    WROTE  NOTE               ID',
    '    build-server  writer  3h                        6cbt2bbs',
    '    kiosk         writer  3h     cannot confirm:…   1aaaaaaa',
    '  1 version may repeat redacted text, written without knowing of the redaction',
    '    PATH                                            ID',
    '    …eep/deep/deep/deep/deep/deep/notes‹U+001B›.md  0dv1dq84',
    '  Redact them too with `gitlocket redact --with-copies 7wcr3tf3`',
    '  Left out 1 commit of a removed device, or of the side that was given up',
    '    PATH              CHANGE   DEVICE        ID',
    '    /late‹U+001B›.md  created  build-server  0',
    '  words one two',
    '',
  ])
})

test('refs that are ignored are counted, with the command that removes them', () => {
  const report = { ...quiet, ignoredRefs: 12_000 }
  expect(textOf(report)).toMatch(/^ {2}origin has 12,?000 refs .*`git push origin --delete <ref>/m)
  expect(reportJson(report)).toMatchObject({ ignored_refs: 12_000 })
  expect(textOf(quiet)).not.toContain('refs')
})
