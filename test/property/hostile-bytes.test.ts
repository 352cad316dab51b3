// Whatever bytes a decoder is given, it answers, or refuses with a StoreError: no other error, no
// endless loop, no time that grows with the square of the input.
// @module-tag slow

import { rmSync, writeFileSync } from 'node:fs'
import { deflateSync } from 'node:zlib'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concatBytes, fromHex, utf8 } from '../../src/bytes.ts'
import { sha256 } from '../../src/crypto/digest.ts'
import { systemRandom } from '../../src/crypto/random.ts'
import { Sha1 } from '../../src/crypto/sha1.ts'
import { signingKeyPair } from '../../src/crypto/signature.ts'
import { systemDisk } from '../../src/disk/system-disk.ts'
import { StoreError } from '../../src/errors.ts'
import { encodeCommit, parseCommit, verifyCommitBytes } from '../../src/format/commit.ts'
import { decodeDetail, encodeDetail } from '../../src/format/detail.ts'
import { decodeDirectory, encodeDirectory } from '../../src/format/directory.ts'
import { openDeterministic, openEnvelope, sealEnvelope } from '../../src/format/envelope.ts'
import { formatId, parseId } from '../../src/format/id.ts'
import {
  decodeArchive,
  decodeKeyring,
  encodeArchive,
  encodeKeyring,
} from '../../src/format/keyring.ts'
import { decodeMemoryBlob, encodeMemoryBlob } from '../../src/format/memory-blob.ts'
import { checkPath, parentPaths } from '../../src/format/path.ts'
import { parseStoreFile, storeFile } from '../../src/format/public-files.ts'
import { decodeRecord, signRecord } from '../../src/format/record.ts'
import { decodeSettings, encodeSettings } from '../../src/format/settings.ts'
import { JournalFile } from '../../src/git/journal/journal-file.ts'
import {
  batchHeadBytes,
  decodeFrames,
  encodeBatch,
  findHead,
} from '../../src/git/journal/journal-frame.ts'
import { surveyJournal } from '../../src/git/journal/journal-survey.ts'
import { decodeTree, encodeTree } from '../../src/git/objects/object.ts'
import { applyDelta, deltaWork, makeDelta } from '../../src/git/pack/delta.ts'
import {
  decodeEntryHeader,
  decodePackHeader,
  encodeEntryHeader,
  encodeOffsetDeltaHeader,
  encodePackHeader,
  inflate,
} from '../../src/git/pack/pack-entry.ts'
import { PackIndex, PackIndexBuilder } from '../../src/git/pack/pack-index.ts'
import { parseGitConfig } from '../../src/git/refs/git-config.ts'
import {
  decodeIdentity,
  formatIdentity,
  formatRecoveryKey,
  generateIdentity,
  parseRecoveryKey,
} from '../../src/keys/identity.ts'
import { full, seed } from '../support/seed.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { TestHistory } from '../support/transitions.ts'
import { mutated } from './byte-mutations.ts'
import * as values from './format-values.ts'

const runs = { seed, numRuns: full ? 20_000 : 75 }
const storeId = '0123456789abcdef'.repeat(2)
const pair = signingKeyPair(systemRandom(32))
const keys = { kid: '01'.repeat(16), key: new Uint8Array(32), saltKey: new Uint8Array(32) }
const context = new Uint8Array(16)
const identityText = formatIdentity(await generateIdentity())

interface Decoder {
  readonly name: string
  /** The input without interference. */
  readonly honest: fc.Arbitrary<Uint8Array>
  readonly decode: (bytes: Uint8Array) => unknown
}

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8')
const config = (bytes: Uint8Array): unknown => parseGitConfig(text(bytes))
const bytesOf = (length: number): fc.Arbitrary<Uint8Array> =>
  fc.uint8Array({ maxLength: length, size: 'max' })

const origin = { generation: 1, salt: new Uint8Array(16) }

const decoders: readonly Decoder[] = [
  {
    name: 'an envelope',
    honest: bytesOf(600).map((all) => sealEnvelope('memory', keys, context, keys.key, all)),
    decode: (bytes) => openEnvelope('memory', keys, context, bytes),
  },
  {
    name: 'an envelope with a hedge',
    honest: bytesOf(600).map((all) => sealEnvelope('detail', keys, context, keys.key, all)),
    decode: (bytes) => openDeterministic('detail', keys, context, keys.key, bytes),
  },
  {
    name: 'a record',
    honest: values.record.map((each) => {
      return values.padded('record', signRecord({ seed: storeId }, each, pair))
    }),
    decode: decodeRecord,
  },
  {
    name: 'a detail',
    honest: values.detail.map((rows) => values.padded('detail', encodeDetail(rows))),
    decode: decodeDetail,
  },
  {
    name: 'a memory blob',
    honest: values.memoryBlob.map((blob) => values.padded('memory', encodeMemoryBlob(blob))),
    decode: decodeMemoryBlob,
  },
  {
    name: 'a memory blob of any bytes with their right hash',
    honest: bytesOf(600).map((content) => {
      const honest = { path: '/a', content: '', versionId: storeId, created: 1 }
      const plain = encodeMemoryBlob({ ...honest, sha256: sha256(content) })
      new DataView(plain.buffer).setUint32(4, content.length)
      return values.padded('memory', concatBytes(plain, content))
    }),
    decode: decodeMemoryBlob,
  },
  {
    name: 'settings',
    honest: values.settings.map((each) => values.padded('settings', encodeSettings(each))),
    decode: decodeSettings,
  },
  {
    name: 'settings of any JSON',
    honest: fc.json().map((json) => {
      const length = new Uint8Array(4)
      new DataView(length.buffer).setUint32(0, utf8(json).length)
      return values.padded('settings', concatBytes(Uint8Array.of(1, 0), length, utf8(json)))
    }),
    decode: decodeSettings,
  },
  {
    name: 'a keyring',
    honest: values.keyring.map(encodeKeyring),
    decode: decodeKeyring,
  },
  {
    name: 'a directory',
    honest: values.directory.map((each) => values.padded('directory', encodeDirectory(each))),
    decode: decodeDirectory,
  },
  {
    name: 'an archive',
    honest: values.archive('A').map((each) => values.padded('archive', encodeArchive(each))),
    decode: (bytes) => [decodeArchive(bytes, 'A'), decodeArchive(bytes, 'C')],
  },
  {
    name: 'a commit',
    honest: bytesOf(300).map((record) => {
      const parts = { tree: '1'.repeat(40), parents: ['2'.repeat(40)], height: 1 }
      return encodeCommit({ ...parts, record, detail: record }, pair)
    }),
    decode: (bytes) => verifyCommitBytes(bytes, parseCommit(bytes), pair),
  },
  {
    name: 'store.json',
    honest: fc.oneof(values.id().map(storeFile), fc.json().map(utf8)),
    decode: parseStoreFile,
  },
  {
    name: 'an identity',
    honest: fc.constant(utf8(identityText)),
    decode: (bytes) => decodeIdentity(text(bytes)),
  },
  {
    name: 'a recovery key',
    honest: values.bytes(32).map((key) => utf8(formatRecoveryKey(storeId, key))),
    decode: (bytes) => parseRecoveryKey(text(bytes)),
  },
  {
    name: 'an id',
    honest: values.id().map((hex) => utf8(formatId('memory', hex))),
    decode: (bytes) => parseId('memory', text(bytes)),
  },
  {
    name: 'a path',
    honest: values.path.map(utf8),
    decode: (bytes) => parentPaths(checkPath(text(bytes))),
  },
  {
    name: 'a git tree',
    honest: fc.array(values.id(40), { maxLength: 8 }).map((oids) => {
      const names = oids.map((oid, index) => ({ mode: '100644' as const, name: `${index}`, oid }))
      return encodeTree(names)
    }),
    decode: decodeTree,
  },
  {
    name: 'a pack header',
    honest: fc.nat().map(encodePackHeader),
    decode: decodePackHeader,
  },
  {
    name: 'the header of a pack entry',
    honest: fc.oneof(
      fc.nat().map((size) => encodeEntryHeader('blob', size)),
      fc.tuple(fc.nat(), fc.nat()).map(([size, far]) => encodeOffsetDeltaHeader(size, far)),
      fc.tuple(fc.nat(), values.id(40)).map(([size, oid]) => {
        return concatBytes(encodeEntryHeader('refDelta', size), fromHex(oid))
      }),
    ),
    decode: decodeEntryHeader,
  },
  {
    name: 'the data of a pack entry',
    honest: bytesOf(600).map((body) => new Uint8Array(deflateSync(body))),
    decode: (bytes) => [0, 1, 600, 100_000].map((size) => inflate(bytes, size)),
  },
  {
    name: 'a pack index with a right checksum',
    honest: fc.uniqueArray(values.id(40), { maxLength: 8 }).map((oids) => {
      const builder = new PackIndexBuilder(oids.length)
      for (const [n, oid] of oids.entries()) builder.add(fromHex(oid), 2 ** (29 + n), n)
      return builder.encode(new Uint8Array(20)).slice(0, -20)
    }),
    decode: (body) => {
      const index = new PackIndex(concatBytes(body, new Sha1().update(body).digest()))
      index.find(new Uint8Array(20))
      for (let at = 0; at < Math.min(index.count, 100); at += 1) {
        index.find(index.oidAt(at))
        index.offsetAt(at)
        index.checksumAt(at)
      }
    },
  },
  {
    name: 'a delta',
    honest: fc.tuple(bytesOf(400), bytesOf(400)).map(([a, b]) => {
      return makeDelta(new Uint8Array(300), concatBytes(a, new Uint8Array(200), b))
    }),
    decode: (bytes) => {
      deltaWork(bytes)
      return applyDelta(new Uint8Array(300), bytes)
    },
  },
  {
    name: 'the head of a batch of the journal',
    honest: fc.maxSafeNat().map((generation) => {
      return encodeBatch({ ...origin, generation }, { start: 0, durable: 0 }, []).bytes
    }),
    decode: (bytes) => findHead(bytes, 0),
  },
  {
    name: 'the frames of a batch of the journal',
    honest: fc.constant(frames(2)),
    decode: decodeFrames,
  },
  {
    name: 'a whole journal',
    honest: fc.constant(journal(3)),
    decode: surveyJournal,
  },
  {
    name: "git's config",
    honest: fc
      .array(
        fc.constantFrom('[a]', '[core "b\\"c"]', '\n', ' bare', '=', '"x', '\\', '#', ';', '\t'),
      )
      .map((parts) => utf8(parts.join(''))),
    decode: config,
  },
]

/** A journal of `count` transitions, with a batch for each. */
function journal(count: number): Uint8Array {
  const batches = [encodeBatch(origin, { start: 0, durable: 0 }, []).bytes]
  for (const transition of new TestHistory(1).take(count)) {
    const start = batches.reduce((sum, { length }) => sum + length, 0)
    batches.push(encodeBatch(origin, { start, durable: start }, [transition]).bytes)
  }
  return concatBytes(...batches, new Uint8Array(4096))
}

/** The frames of one batch, without its head and its sum. */
function frames(count: number): Uint8Array {
  const transitions = new TestHistory(1).take(count)
  const { bytes } = encodeBatch(origin, { start: 0, durable: 0 }, transitions)
  return bytes.slice(batchHeadBytes).subarray(0, findHead(bytes, 0)?.length)
}

/** Runs it; a refusal is as good as an answer, and anything else is thrown. */
function attempt(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
  }
}

describe('an answer or a StoreError comes of', () => {
  test.each(decoders)('any bytes that are taken for $name', ({ decode }) => {
    const property = fc.property(bytesOf(1000), (bytes) => attempt(() => decode(bytes)))
    fc.assert(property, runs)
  })

  test.each(decoders)('damage to $name', ({ honest, decode }) => {
    const property = fc.property(mutated(honest), (bytes) => attempt(() => decode(bytes)))
    fc.assert(property, runs)
  })

  test('damage to a journal file, whose frames before it remain readable', () => {
    const directory = temporaryDirectory()
    const honest = journal(4)
    const whole = surveyJournal(honest).before
    const property = fc.property(mutated(fc.constant(honest)), (bytes) => {
      const path = `${directory}/journal`
      writeFileSync(path, bytes)
      const file = new JournalFile(systemDisk, path, () => true)
      try {
        attempt(() => file.refresh())
        const intact = new Set(
          whole.filter(({ start, end }) => {
            return Buffer.compare(bytes.subarray(start, end), honest.subarray(start, end)) === 0
          }),
        )
        const unharmed = whole.findIndex((batch) => !intact.has(batch))
        const expected = whole.slice(0, unharmed === -1 ? whole.length : unharmed)
        expect(file.frames.slice(0, Math.max(0, expected.length - 1))).toEqual(
          expected.flatMap((batch) => batch.frames),
        )
      } finally {
        file.close()
        rmSync(path)
      }
    })
    fc.assert(property, runs)
  })
})

const mebibyte = 2 ** 20
const fill = (unit: string): string => unit.repeat(Math.ceil(mebibyte / unit.length))
const commitStart = `tree ${'1'.repeat(40)}\n`
const author = 'author gitlocket <gitlocket@localhost> 1000000001 +0000\n'
const committer = author.replace('author', 'committer')
const signed = `${commitStart}${author}${committer}gpgsig -----BEGIN SSH SIGNATURE-----`
const message = `${signed}\n\ngitlocket change\n\n`
const begin = '-----BEGIN GITLOCKET RECORD-----\n'
const end = '-----END GITLOCKET RECORD-----\n'

describe('decoding ends in time for a mebibyte that is nearly', () => {
  test.each<readonly [string, (bytes: Uint8Array) => unknown, string]>([
    ['a commit of parents', parseCommit, fill(`parent ${'1'.repeat(40)}\n`)],
    ['a tree line', parseCommit, `tree ${fill('1')}`],
    ['an author', parseCommit, `${commitStart}author ${fill('> 1000000001 +000')}`],
    ['an author of angles', parseCommit, `${commitStart}author ${fill('>')}`],
    ['an author of digits', parseCommit, `${commitStart}author > ${fill('1')}`],
    [
      'an author without an end',
      parseCommit,
      `${commitStart}author ${fill('> 1000000001 +0000 ')}`,
    ],
    ['a committer', parseCommit, `${commitStart}${author}committer ${fill('>')}`],
    ['a folded signature', parseCommit, `${signed}${fill('\n ')}`],
    ['a long signature', parseCommit, `${signed}${fill('\n A')}\n\n`],
    ['a record without an end', parseCommit, `${message}${begin}${fill('AAAA\n')}`],
    ['many record ends', parseCommit, `${message}${begin}${fill(end)}`],
    ['many records', parseCommit, `${message}${fill(`${begin}AAAA\n${end}`)}`],
    ['a path of segments', (bytes) => checkPath(text(bytes)), fill('/a')],
    ['a path of marks', (bytes) => checkPath(text(bytes)), `/${fill('e\u0301\u0323')}`],
    ['an identity of comments', (bytes) => decodeIdentity(text(bytes)), fill('#\n')],
    ['an identity', (bytes) => decodeIdentity(text(bytes)), `GITLOCKET-IDENTITY-1-${fill('0 -')}`],
    ['a recovery key', (bytes) => parseRecoveryKey(text(bytes)), `GLKR1-${fill('- ')}`],
    ['an id', (bytes) => parseId('memory', text(bytes)), `mem_${fill('0')}`],
    ['store.json', parseStoreFile, fill('[')],
    ['a tree without a space', decodeTree, fill('100644')],
    ['a tree without a NUL', decodeTree, fill('100644 a')],
    ['a config of brackets', config, fill('[a')],
    ['a config of a long section', config, `[${fill('a')}`],
    ['a config of white space', config, `[a${fill(' \t')}"`],
    ['a config of an open subsection', config, `[a "${fill('\\\\')}`],
    ['a config of a closed subsection', config, `[a "${fill('x')}"`],
    ['a config of backslashes', config, `[a]\nb = ${fill('\\')}`],
    ['a config of a quote', config, `[a]\nb = "${fill(' x')}`],
    ['a config of a long name', config, `[a]\n${fill('b')} ${fill(' ')}!`],
    ['a config of one name', config, `[a]\n${fill('b\n')}!`],
  ])('%s', (_, decode, input) => {
    // A reader that is not linear takes hours over a MiB: the test would run into its timeout.
    const bytes = utf8(input)
    attempt(() => decode(bytes))
  })
})
