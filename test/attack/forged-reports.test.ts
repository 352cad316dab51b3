// T18: reports signed by a stranger, another member or a removed device, or unsigned, for readers
// with the trail of the store, with a known key, and with nothing. FORMAT §10.3. T20: no report by
// an auditor names a path, a setting or a reason, and none by a member shows content.

import { beforeAll, describe, expect, test } from 'vitest'
import { utf8 } from '../../src/bytes.ts'
import { reportJson } from '../../src/cli/commands/report.ts'
import { reportPage } from '../../src/cli/report/page.ts'
import { formatId } from '../../src/format/id.ts'
import { sshPublicKey, sshSignature } from '../../src/format/sshsig.ts'
import {
  type Audit,
  auditStore,
  createStore,
  generateIdentity,
  type Identity,
} from '../../src/index.ts'
import { reportCsv } from '../../src/operations/report-csv.ts'
import { type AuditReport, collectReport } from '../../src/store/report/audit-report.ts'
import { signReport, verifyReport } from '../../src/store/report/report-signature.ts'
import { atOnce } from '../../src/time-slice.ts'
import { admit } from '../support/clones.ts'
import { author, leastStretch } from '../support/stores.ts'
import { sharedDirectory } from '../support/temporary.ts'
import { verdictOf } from '../support/verdict.ts'

const canaries = {
  content: 'Canary-content-Xq7vT2',
  erased: 'Canary-erased-Xq7vT2',
  path: 'Canary-path-Xq7vT2',
  reason: 'Canary-reason-Xq7vT2',
  description: 'Canary-description-Xq7vT2',
}
const storeName = 'Canary-name-Xq7vT2'

const directory = sharedDirectory()
let file: Uint8Array
let founder: Identity
let auditor: Identity
let removed: Identity
let stranger: Identity
let audit: Audit
let ofMember: AuditReport
let ofAuditor: AuditReport

beforeAll(async () => {
  founder = await generateIdentity()
  stranger = await generateIdentity()
  const at = { directory: `${directory}/store`, stateDirectory: `${directory}/state` }
  const { path, content, erased, reason, description } = canaries
  const made = { ...at, identity: founder, name: storeName, stretch: leastStretch }
  const { store } = await createStore(made)
  const me = store.as({ ...author, reason })
  await me.settings.update({ description, metadata: { key: description } })
  await me.write(`/${path}/a.md`, erased)
  const request = { select: { matching: /erased/ }, reason: 'legal', current: 'overwrite' } as const
  const { certificate } = await store.as(author).redact(request)
  await me.write(`/${path}/b.md`, content)
  auditor = await admit({ store }, 'auditor')
  removed = await admit({ store }, 'owner')
  await store.as(author).devices.remove([dev(removed)])
  const certificates = [JSON.stringify(certificate)]
  ofMember = await store.maintenance.report({ certificates })
  await store.maintenance.checkpoint()
  audit = await auditStore({ ...at, stateDirectory: `${directory}/other`, identity: auditor })
  await store.close()
  file = utf8(`<!doctype html>\n${audit.storeId}\n`)
  const named = certificate && [certificate]
  ofAuditor = atOnce(collectReport(audit, undefined, { certificates: named }))
})

function dev({ deviceId }: Identity): string {
  return formatId('device', deviceId)
}

interface Verdicts {
  readonly unknown: string
  readonly key: string
  readonly trail: string
}

async function judge(bytes: Uint8Array, signature: string): Promise<Verdicts> {
  return {
    unknown: await verdictOf(() => verifyReport(bytes, signature, 'unknown')),
    key: await verdictOf(() => verifyReport(bytes, signature, { key: dev(founder) })),
    trail: await verdictOf(() => verifyReport(bytes, signature, audit)),
  }
}

const [accepted, refused] = ['accepted', 'report_invalid'].map((verdict): Verdicts => {
  return { unknown: verdict, key: verdict, trail: verdict }
})

describe('T18: a report', () => {
  test('that a device has signed is believed, by its key in either form', async () => {
    const signature = signReport(file, founder)
    expect(await judge(file, signature)).toEqual(accepted)
    const key = `${sshPublicKey(founder.signing.publicKey)} ada@laptop`
    const { deviceId, device } = await verifyReport(file, signature, { key })
    expect({ deviceId, device }).toEqual({ deviceId: dev(founder), device: undefined })
    const found = await verifyReport(file, signReport(file, auditor), audit)
    expect(found.device).toMatchObject({ deviceId: dev(auditor), role: 'auditor' })
  })

  test.each<[name: string, forge: () => readonly [Uint8Array, string]]>([
    [
      'whose file has another byte',
      () => [utf8(`<!doctype html>\r\n${audit.storeId}\n`), signReport(file, founder)],
    ],
    ['whose file is cut off', () => [file.subarray(1), signReport(file, founder)]],
    ['without a signature', () => [file, '']],
    ['with half a signature', () => [file, signReport(file, founder).slice(0, 200)]],
    ['signed as a certificate', () => [file, signedAs('gitlocket-redaction')]],
    ['signed as a commit', () => [file, signedAs('git')]],
    ['whose signature has a text before it', () => [file, `x\n${signReport(file, founder)}`]],
    ['whose signature has a text after it', () => [file, `${signReport(file, founder)}x`]],
    ['whose signature has other lines', () => [file, joined(signReport(file, founder))]],
    ['that names the key of another', () => [file, exchanged()]],
  ])('%s is refused by everybody', async (_, forge) => {
    expect(await judge(...forge())).toEqual(refused)
  })

  test('that a stranger has signed is refused if a key or the store is known', async () => {
    const verdicts = await judge(file, signReport(file, stranger))
    expect(verdicts).toEqual({ ...refused, unknown: 'accepted' })
  })

  test('that another member has signed is not the one of the given key', async () => {
    const verdicts = await judge(file, signReport(file, auditor))
    expect(verdicts).toEqual({ ...accepted, key: 'report_invalid' })
  })

  test('of a removed device is named as that', async () => {
    const { device } = await verifyReport(file, signReport(file, removed), audit)
    expect(device?.removed).toMatchObject({ deviceId: dev(founder) })
  })

  const other = formatId('store', 'ab'.repeat(16))
  test('that names no store, or another one of its device, is refused', async () => {
    const bare = utf8('<!doctype html>\n')
    expect(await judge(bare, signReport(bare, founder))).toEqual(refused)
    const foreign = utf8(`${other} ${audit.storeId}`)
    const verdicts = await judge(foreign, signReport(foreign, founder))
    expect(verdicts).toEqual({ ...accepted, trail: 'store_id_mismatch' })
  })

  test('is about the store that it names first, in each form', async () => {
    const named = { ...ofMember, name: other }
    const json = JSON.stringify(reportJson(named, 0))
    for (const text of [reportPage(named, 0), reportCsv(named, 0), json]) {
      const { storeId } = await verifyReport(utf8(text), signReport(utf8(text), founder), audit)
      expect(storeId).toBe(audit.storeId)
      expect(text).toContain(other)
    }
  })

  test('is compared with a well-formed key only', async () => {
    for (const key of ['', 'dev_1', 'ssh-rsa AAAA']) {
      const verdict = await verdictOf(() => verifyReport(file, signReport(file, founder), { key }))
      expect(verdict).toBe('invalid_input')
    }
  })
})

function signedAs(namespace: string): string {
  return sshSignature(namespace, file, founder.signing)
}

/** The same base64 in one line. */
function joined(armor: string): string {
  const lines = armor.trimEnd().split('\n')
  return [lines[0], lines.slice(1, -1).join(''), lines.at(-1), ''].join('\n')
}

/** The stranger's signature with the founder's key in its place. */
function exchanged(): string {
  const pair = { ...stranger.signing, publicKey: founder.signing.publicKey }
  return sshSignature('gitlocket-report', file, pair)
}

describe('T20: a report', () => {
  const forms: readonly (readonly [string, (report: AuditReport) => string])[] = [
    ['html', (report) => reportPage(report, 0)],
    ['csv', (report) => reportCsv(report, 0)],
    ['json', (report) => JSON.stringify(reportJson(report, 0))],
  ]

  test.each(forms)('has no content, path, setting or reason: %s', (_, render) => {
    for (const text of [render(ofMember), render(ofAuditor)]) {
      expect(text).toContain('agent-1')
      for (const canary of Object.values(canaries)) {
        expect(text).not.toContain(canary)
        expect(text).not.toContain(Buffer.from(canary).toString('base64').slice(0, 16))
      }
    }
    expect(render(ofMember)).toContain(storeName)
    expect(render(ofAuditor)).not.toContain(storeName)
  })

  test('is also missing from its data', () => {
    const data = [ofMember, ofAuditor].map((report) => JSON.stringify(report)).join('')
    for (const canary of Object.values(canaries)) expect(data).not.toContain(canary)
    expect(data).toContain(dev(removed))
  })
})
