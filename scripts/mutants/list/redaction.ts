// What a redaction erases, and what proves it.

import type { MutatedFile } from '../mutant.ts'

const forgeries = 'attack/forged-certificates.test.ts'
const permanent = 'attack/permanent-secrets.test.ts'
const copies = 'attack/left-copies.test.ts'
const reports = 'attack/forged-reports.test.ts'
const pages = 'unit/cli/report.test.ts'

export const redaction: readonly MutatedFile[] = [
  {
    file: 'store/session/session.ts',
    mutants: [
      {
        line: 'await this.checkPermanent(authorTexts(author), {}, author.guard)',
        becomes: '',
        test: permanent,
        name: 'with a secret as session is refused whatever it writes',
      },
    ],
  },
  {
    file: 'store/devices/administration.ts',
    mutants: [
      {
        line: 'await session.checkPermanent(settingsTexts(value, before), value.metadata)',
        becomes: '',
        test: permanent,
        name: 'with a secret in the name are refused',
      },
    ],
  },
  {
    file: 'store/create.ts',
    mutants: [
      {
        line: '    ...settingsTexts(settings),',
        becomes: '',
        test: permanent,
        name: 'of a new store are checked by the guard that it is made with',
      },
    ],
  },
  {
    file: 'store/sync/merge.ts',
    mutants: [
      {
        line: 'await session.checkContents([], this.#author)',
        becomes: '',
        test: permanent,
        name: 'with a secret as its reason is refused when it merges',
      },
    ],
  },
  {
    file: 'cli/residue.ts',
    mutants: [
      {
        line: 'return found.length + builtOnRedacted.length + outside.length === 0 ? 0 : FOUND',
        becomes: 'return found.length + outside.length === 0 ? 0 : FOUND',
        test: 'unit/cli/residue.test.ts',
        name: 'versions that may hold a text are named, and are no success',
      },
    ],
  },
  {
    file: 'store/redaction/certificate-text.ts',
    mutants: [
      {
        line: 'if (withoutSpace(text) !== withoutSpace(JSON.stringify(certificate))) {',
        becomes: 'if (text === certificate.reason) {',
        test: forgeries,
        name: 'invalid_input: a member twice',
      },
      {
        line: 'checkSignature(statement, signature.value, publicKey)',
        becomes: '',
        test: forgeries,
        name: 'certificate_invalid: another date',
      },
      {
        line: "if (formatId('device', deviceIdOf(publicKey)) !== statement.device_id) {",
        becomes: 'if (statement.device_id === publicKey.toString()) {',
        test: forgeries,
        name: 'certificate_invalid: the key of another device',
      },
    ],
  },
  {
    file: 'store/redaction/built-on.ts',
    mutants: [
      {
        line: 'return known?.every((redaction) => isApart(redaction, commit)) === true',
        becomes: 'return known === undefined && isApart(commit, commit)',
        test: copies,
        name: 'is named on all clones until it is redacted, and so is the merge with it',
      },
      {
        line: 'return known?.every((redaction) => isApart(redaction, commit)) === true',
        becomes: 'return known !== undefined',
        test: copies,
        name: 'is not named if it knows of it, or deletes, or is of another memory',
      },
      {
        line: "if (input.operation === 'deleted' && entry.operation !== 'created') continue",
        becomes: '',
        test: copies,
        name: 'is not named if it knows of it, or deletes, or is of another memory',
      },
      {
        line: "if (input.operation === 'deleted' && entry.operation !== 'created') continue",
        becomes: "if (input.operation === 'deleted') continue",
        test: copies,
        name: 'is named also where the text was deleted there and restored',
      },
    ],
  },
  {
    file: 'store/redaction/certificate-check.ts',
    mutants: [
      {
        line: 'if (records.length < found.length) {',
        becomes: 'if (records.length > found.length) {',
        test: forgeries,
        name: 'is not what the history says: such a record too',
      },
      {
        line: 'if (record.deviceId !== device_id) throw',
        becomes: 'if (record.deviceId === undefined) throw',
        test: forgeries,
        name: 'is of another owner, who did not redact',
      },
      {
        line: 'if (isTrue && isThere && versions.length === redacted.size) return',
        becomes: 'if (isTrue && isThere) return',
        test: forgeries,
        name: 'is not what the history says: a version less',
      },
      {
        line: 'return oid === records[index]?.commit || !trail.hasCommit(oid)',
        becomes: 'return oid.length + index > 0',
        test: forgeries,
        name: 'is not what the history says: a commit of something else',
      },
      {
        line: 'await trail.findReached(certificate.object_ids)',
        becomes: 'await trail.findReached([])',
        test: forgeries,
        name: 'is not what the history says: a head before that is there',
      },
    ],
  },
  {
    file: 'store/redaction/residue.ts',
    mutants: [
      {
        line: 'return [...living, ...past]',
        becomes: 'return living',
        test: 'attack/redaction-replay.test.ts',
        name: 'finds a cache from before the redaction by its proof of absence',
      },
      {
        line: 'found.push(...cached.filter((id) => redacted.has(id)).map(cacheResidue))',
        becomes: '',
        test: 'attack/redaction-replay.test.ts',
        name: 'finds a cache from before the redaction by its proof of absence',
      },
    ],
  },
  {
    file: 'store/redaction/erased-spans.ts',
    mutants: [
      {
        line: '? Number.POSITIVE_INFINITY : afterDetour(detours, replaced)',
        becomes: '? Number.POSITIVE_INFINITY : replaced',
        test: 'unit/store/erased-spans.test.ts',
        name: 'where the branch is merged that does not know of the replacement',
      },
      {
        line: 'start = Math.min(start, last.start)',
        becomes: '',
        test: 'unit/store/erased-spans.test.ts',
        name: 'where the branch is merged that does not know of the replacement',
      },
      {
        line: `for (const base of bases) ends.set(base, graph.commits.length + index)
`,
        becomes: '',
        test: 'unit/store/erased-spans.test.ts',
        name: 'the next commit of a linear history may replace it',
      },
      {
        line: 'detour.start > position ? position : detour.end + 1',
        becomes: 'false ? position : detour.end + 1',
        test: 'unit/store/erased-spans.test.ts',
        name: 'where it is replaced, before there are branches',
      },
      {
        line: 'for (const id of [base, secondBase]) {',
        becomes: 'for (const id of [secondBase]) {',
        test: 'unit/store/erased-spans.test.ts',
        name: 'trees have an erased version until where it is replaced, in a line',
      },
    ],
  },
  {
    file: 'store/redaction/shown-tree.ts',
    mutants: [
      {
        line: `if (size <= FLAT_MAX) return this.#flatten(entries)
`,
        becomes: '',
        test: 'unit/store/redaction-limits.test.ts',
        name: 'a redaction that leaves few memories of a directory makes it flat',
      },
      {
        line: `    this.#dead.add(blob)
`,
        becomes: '',
        test: 'unit/store/redaction.test.ts',
        name: 'a redaction erases one version and keeps its author, operation and time',
      },
      {
        line: `    this.#dead.add(old)
`,
        becomes: '',
        test: 'unit/store/redaction.test.ts',
        name: 'a redaction leaves no byte of the old objects in any file of the store',
      },
    ],
  },
  {
    file: 'store/redaction/redaction-clearing.ts',
    mutants: [
      {
        line: `if (unchanged.length > 0) throw unchangedError(unchanged)
`,
        becomes: '',
        test: 'unit/store/redaction-limits.test.ts',
        name: 'overwriting is refused where the reason alone matches, and changes nothing',
      },
      {
        line: 'if (path.search(everywhere) !== -1) {',
        becomes: `if (path === '') {`,
        test: 'unit/store/redaction-limits.test.ts',
        name: 'overwriting is refused where a path matches, and changes nothing',
      },
      {
        line: `  checkMayOverwrite(snapshot, request)
`,
        becomes: '',
        test: 'unit/store/redaction-limits.test.ts',
        name: 'is refused in an archived store, which allows deletions and redactions',
      },
    ],
  },
  {
    file: 'store/redaction/redaction-plan.ts',
    mutants: [
      {
        line: 'const more = versionIds.filter((versionId) => !known.has(versionId))',
        becomes: 'const more = versionIds.slice(versionIds.length)',
        test: 'unit/store/redaction-limits.test.ts',
        name: 'a confirmed selection is the limit: nothing is done if more is selected now',
      },
    ],
  },
  {
    file: 'store/redaction/rewrite.ts',
    mutants: [
      {
        line: `    this.#dead.add(oid)
    this.#tree`,
        becomes: '    this.#tree',
        test: 'unit/store/redaction.test.ts',
        name: 'a redaction erases one version and keeps its author, operation and time',
      },
      {
        line: `    this.#dead.add(root)
`,
        becomes: '',
        test: 'unit/store/redaction.test.ts',
        name: 'a redaction leaves no byte of the old objects in any file of the store',
      },
      {
        line: `return !erasedIds.has(commit.record.rows[row]?.versionId ?? '')`,
        becomes: 'return true',
        test: 'unit/store/redaction.test.ts',
        name: 'a redaction erases one version and keeps its author, operation and time',
      },
      {
        line: `      this.#shown.hide(memoryId, blob)
`,
        becomes: '',
        test: 'unit/store/redaction.test.ts',
        name: 'a redaction erases one version and keeps its author, operation and time',
      },
      {
        line: 'parents: place.parents.map((parent) => parents.get(parent) ?? parent),',
        becomes: 'parents: place.parents,',
        test: 'unit/store/redaction.test.ts',
        name: 'a redaction erases one version and keeps its author, operation and time',
      },
    ],
  },
  {
    file: 'store/verify/verify-rewritten.ts',
    mutants: [
      {
        line: `  checkBelow(history, base, found.redacted)
`,
        becomes: '',
        test: 'attack/redaction-replay.test.ts',
        name: 'before the redaction redaction_undone: is given one that was not rewritten',
      },
      {
        line: 'for (const versionId of found.redacted) snapshot.redacted.add(versionId)',
        becomes: '',
        test: 'attack/redaction-replay.test.ts',
        name: 'is given that with the same redact record while its store is open',
      },
    ],
  },
  {
    file: 'store/commits/new-record.ts',
    mutants: [
      {
        line: 'checkRecordRules(record)',
        becomes: '',
        test: 'unit/store/new-record.test.ts',
        name: 'a redaction that names a version twice is refused before it is signed',
      },
    ],
  },
  {
    file: 'store/report/report-signature.ts',
    mutants: [
      {
        line: 'verifySshSignature(namespace, file, signature, publicKey)',
        becomes: '',
        test: reports,
        name: 'whose file has another byte is refused by everybody',
      },
      {
        line: 'if (pinned === deviceId) return signer',
        becomes: 'return signer',
        test: reports,
        name: 'that another member has signed is not the one of the given key',
      },
    ],
  },
  {
    file: 'store/report/audit-report.ts',
    mutants: [
      {
        line: 'return { ...searched, builtOnRedacted: named, textsOutside: textsOutside.length }',
        becomes: 'return { ...searched, builtOnRedacted, textsOutside: textsOutside.length }',
        test: 'unit/store/report.test.ts',
        name: 'says of each redaction what the search has found, by ids alone',
      },
    ],
  },
  {
    file: 'store/report/confirmations.ts',
    mutants: [
      {
        line: 'if (isKnown(commit)) continue',
        becomes: '',
        test: 'unit/store/report.test.ts',
        name: 'names who has not confirmed a redaction: not removed, later or own devices',
      },
    ],
  },
  {
    file: 'cli/report/html.ts',
    mutants: [
      {
        line: 'return `&#${character.charCodeAt(0)};`',
        becomes: 'return character',
        test: pages,
        name: 'keeps a script a text',
      },
    ],
  },
  {
    file: 'api/report-csv.ts',
    mutants: [
      {
        line: "const safe = isFormula ? `'${text}` : text",
        becomes: 'const safe = text',
        test: pages,
        name: 'have a formula as a text',
      },
    ],
  },
]
