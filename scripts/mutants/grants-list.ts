// The defects of grants, of clones that begin without history, and of their machines: what a holder
// believes, what it takes from a remote and how it reaches it, and what a granter keeps there.

import { always, type MutantList, never, swap, without } from './mutant.ts'

export const grants: MutantList = {
  'attack/grants.test.ts': [
    never(
      'applyRow',
      '!mayGive(directory, author)',
      'T79 record_role: a grant by a writer where owners alone may give',
    ),
    never(
      'applyGrants',
      'own.length - ended.length + begun > wrapsMax',
      'T79 grant_limit: more grants of a device than there may be',
    ),
    never(
      'checkGrantAuthor',
      'time > notAfter',
      'T79 grant_ended: a change later than the grant runs',
    ),
    never(
      'checkGrantAuthor',
      'time < began - EARLY_MS',
      'T79 grant_time: a change dated more than a day before its grant',
    ),
    swap(
      'checkGrantAuthor',
      ["|| role !== 'writer'", ''],
      'T79 record_role: a change by a proposer',
    ),
    swap(
      'lateOf',
      ['|| directories.some((directory) => !mayGive(directory, deviceId))', ''],
      'what a holder wrote while its granter was lowered and raised',
    ),
    swap(
      'endsGrant',
      ['ended.has(id) ||', ''],
      'T79 record_device: a change by a holder whose grant was begun again apart from an end',
    ),
    never(
      'grantsAfter',
      '!mayGive(keyring.directory, granter)',
      'T79 record_device: a change by a holder whose granter was lowered and raised',
    ),
    without(
      'openWraps',
      'verifySignature(',
      'those of another member are refused, although it has the keys',
    ),
    without(
      'openStart',
      'verifySignature(',
      'those of another member are refused, although it has the keys',
    ),
  ],
  'attack/redaction.test.ts': [
    swap(
      'checkRedactTarget',
      ['context.attested?.has(row.versionId) === true', 'true'],
      'a redaction of an earlier version needs the word of the granter',
    ),
    swap(
      'verifyBegun',
      ['[...attested, ...found.redacted]', 'attested'],
      'a redaction of a later version is accepted, and rewritten commits alone',
    ),
  ],
  'attack/false-starts.test.ts': [
    without(
      'verifySaid',
      'findDifference(said, verified)',
      'is named, though the newest state is the same without it',
    ),
    without(
      'verifyAgainst',
      'findDifference(now, snapshot)',
      'a lie is named, though the clone begins at the honest floor by now',
    ),
    swap(
      'checkFile',
      ['equalBytes(getBlob(objects, oid, `${name}_mismatch`), blob)', 'blob.length > 0'],
      'settings_mismatch: other settings',
    ),
    swap(
      'snapshotOf',
      ['!equalBytes(record, state.record) ||', ''],
      'tree_mismatch: another record',
    ),
    never('memoriesOf', 'live !== blobs.size', 'tree_mismatch: a memory is left out'),
    swap(
      'checkGranted',
      ['devices.get(grant.granter)?.forked !== true', 'true'],
      'grant_expired: a granter that is forked',
    ),
  ],
  'attack/anew-starts.test.ts': [
    never(
      'checkIsNewer',
      'start.counter',
      'a rewritten history needs a newer start of the granter',
    ),
    never(
      'checkContains',
      '!records.has',
      'a version of another holder in place of which the granter has one',
    ),
    never('checkContains', '!theirs.redacted.has(id)', 'lacks nothing: a redaction'),
    never('checkContains', 'settings.height', 'lacks nothing: settings'),
    never('checkContains', 'device !== undefined', 'lacks nothing: a change of a device'),
    never('lacksRights', 'removed.some', 'where the granter was put back from a backup'),
    swap('lacksRights', ['known.get(grantId) === began', 'false'], 'the end of a grant'),
    swap(
      'findOlderDevice',
      ['!equalBytes(there.record, record)', 'false'],
      'a change of a device whose copy has made another one',
    ),
    swap(
      'findOlderDevice',
      ['there.sequence < sequence', 'false'],
      'lacks nothing: a change of a device',
    ),
    never('hasOlderVersion', 'isPast', 'a version of another holder'),
    never('hasOlderVersion', 'now === undefined', 'a memory of another holder'),
    swap('findLocal', ['&& !isShown(position)', ''], 'its own change'),
    never(
      'beginAnew',
      'redacted.size === 0',
      'a rewritten history that redacts nothing is no reason',
    ),
    without(
      'beginAnew',
      'clone.granted.check(',
      'begins nothing for a grant that has ended, with wraps from before',
    ),
  ],
  'unit/store/grants/begin-anew.test.ts': [
    swap(
      'findUnsent',
      ['!isLocal(commit.position) || ', ''],
      'writes nothing again that it has sent, and that others have changed since',
    ),
  ],
  'attack/held-starts.test.ts': [
    never(
      'verify',
      '!records.has(toHex(start.state.record))',
      'another line of the store, of members, is refused',
    ),
  ],
  'attack/holder-work.test.ts': [
    swap(
      'deepen',
      ['below < 0 || below > historyDepthMax', 'false'],
      'at a height of 4503599627370496 is refused by open clones and new ones',
    ),
  ],
  'attack/granted-starts.test.ts': [
    swap(
      'findForeign',
      ['start.counter < now.counter', 'false'],
      'a start of another device that is older than one seen before is removed',
    ),
    swap(
      'isOutOfDate',
      ['|| published.redacted !== redacted.size', ''],
      'a start of its own that lacks a redaction is made again if it was put back',
    ),
    swap(
      'findForeign',
      ['!isComplete ||', ''],
      'a start of another device that lacks a redaction is removed by any sync',
    ),
    swap(
      'planOwn',
      ['needsWraps || isStartLost ||', 'needsWraps ||'],
      'a member with all keys cannot put its start in the place of another',
    ),
  ],
  'unit/store/grants/give.test.ts': [
    never(
      'planOwn',
      'own.ids.length === 0',
      'an ended grant opens nothing more, and the last one takes all from the remote',
    ),
    never(
      'findForeign',
      '!isKept',
      'an owner removes the refs of a device that was removed, and no others',
    ),
    swap(
      'send',
      ['!updates.some(({ name }) => isRefused.has(name))', 'true'],
      'a start that the host refuses is sent again by the next sync',
    ),
    swap(
      'planOwn',
      ['isStartLost ||', ''],
      'a sync makes a start again after an hour, 256 commits, or a loss',
    ),
    swap(
      'planOwn',
      ['published?.kid !== own.kid', 'false'],
      'new keys are wrapped for the grants that go on',
    ),
  ],
  'unit/home/grant.test.ts': [
    never(
      'findGrant',
      'text !== undefined && file',
      'is refused with a text and a file, and the text is not shown',
    ),
    without(
      'findGrant',
      'checkNotEmpty(',
      'is refused with an empty text with an address, and the text is not shown',
    ),
    swap(
      'cloneNameOf',
      ['digits.slice(5, 31)', 'digits.slice(5)'],
      'which hold nothing of the secret',
    ),
  ],
  'unit/cli/granted.test.ts': [
    always('needHistory', 'history.beginning', 'and an undo reports its limit'),
  ],
  'contract/boundary.test.ts': [
    swap('checkCommits', ['&& commits.length <= boundaryCommitsMax', ''], 'is not too many'),
    without(
      'joinChanges',
      'unshallow.delete(oid)',
      'moves once with the packs of one fetch, however deep',
    ),
  ],
  'unit/git/shallow.test.ts': [
    swap(
      'readShallow',
      ['commits.every((line) => /^[0-9a-f]{40}$/.test(line))', 'true'],
      'the file of the boundary is refused unless the caller knows of it',
    ),
    without(
      'moveShallow',
      'commits.delete(oid)',
      'is moved by two handles at once, and has what both did',
    ),
    swap(
      'moveShallow',
      ['...readShallow(files.disk, files.directory), ', ''],
      'is moved by two handles at once, and has what both did',
    ),
    swap(
      'writeShallow',
      ["if (text !== '') return", 'if (true) return'],
      'is deepened and made whole by stock git',
    ),
  ],
  'interop/proxies.test.ts': [
    swap(
      'openTunnel',
      ['isOpen && head.length === 0', 'isOpen'],
      'because it answers in place of the host is named, not shown, and left',
    ),
    swap(
      'findVariable',
      ["['http_proxy']", "['http_proxy', 'HTTP_PROXY']"],
      'HTTP_PROXY names none: a header of a request can set it in a CGI program',
    ),
    always('check', 'answer.statusCode', 'is given to the proxy, with the credentials of each'),
    swap(
      'connectRequest',
      [', ...authorization(proxy)', ''],
      'is opened with the credentials of the proxy, which the host does not get',
    ),
  ],
  'unit/transport/proxy.test.ts': [
    swap(
      'isNamed',
      ['host.endsWith(`.${bare}`)', 'host.endsWith(bare)'],
      'of badexample.com by "example.com": false',
    ),
    swap(
      'isExempt',
      ['only === used &&', ''],
      'of git.example.com by "git.example.com:8443": false',
    ),
  ],
  'attack/partial-history.test.ts': [
    never(
      'readBoundary',
      "moved[left ? 'shallow' : 'unshallow'].has(oid)",
      'that takes a line back is refused',
    ),
    never(
      'readBoundary',
      'count === 2 * boundaryCommitsMax',
      'that repeats one without end is refused',
    ),
    swap(
      'readBoundary',
      ['([0-9a-f]{40})\\n?$/', '([0-9a-f]{40})/'],
      'that names more than a commit is refused',
    ),
    swap(
      'readBoundary',
      ['.filter((oid) => !asked.has(oid))', ''],
      'a host may repeat a commit at which the history ends already',
    ),
    without('encodeRequest', 'checkDepth(request)', 'is not sent an invalid depth'),
    swap(
      'fetchOver',
      ['deepen === undefined ? unmoved : ', ''],
      'that sends lines to a fetch of everything is refused',
    ),
    never(
      'readBoundary',
      'left && !asked.has(oid)',
      'that sends parents of another commit is refused',
    ),
    never(
      'readBoundary',
      'moved.shallow.size > boundaryCommitsMax',
      'that has no end of lines is refused',
    ),
  ],
}
