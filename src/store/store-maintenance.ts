// `store.maintenance`: proofs, and what keeps the repository in order. No version changes by it.

import type { WorkOptions } from '../async.ts'
import { allowedSignersLine } from '../format/sshsig.ts'
import type { CompactOptions, ObjectAmount } from '../git/object-store.ts'
import type { Oid } from '../git/objects/object.ts'
import type { Audit } from './audit/audit.ts'
import type { TrailPosition, TrailStep } from './audit/new-entries.ts'
import type { ServedStore } from './grants/serve.ts'
import { beforeBeginning } from './history/beginning-entry.ts'
import type { BuiltOnRedacted } from './redaction/built-on.ts'
import type { RedactionCertificate } from './redaction/certificate.ts'
import type { IssuedCertificate, PastRedaction } from './redaction/past-redactions.ts'
import type { ResidueOptions, ResidueReport } from './redaction/residue.ts'
import type { AuditReport, ReportOptions } from './report/audit-report.ts'
import { checkOptions, checkReport, checkText, checkTrailPosition } from './request-check.ts'
import type { StoreSession } from './session/session.ts'
import type { ClockLeap } from './session/writer-clock.ts'
import { type CompactReport, type VerifyReport, verifyStore } from './store-report.ts'
import type { VerifyOptions } from './verify/verify.ts'

export class StoreMaintenance {
  readonly #session: StoreSession

  /** @internal */
  constructor(session: StoreSession) {
    this.#session = session
  }

  /**
   * Set once a write through this store found its clock over 24 hours behind the newest record, or
   * over a year ahead of it: the write was stamped with that clock, which should be looked at.
   */
  get clockLeap(): ClockLeap | undefined {
    return this.#session.clock.leap
  }

  /** The session, for what takes the whole history. */
  get #whole(): StoreSession {
    if (this.#session.beginning !== undefined) throw beforeBeginning()
    return this.#session
  }

  /**
   * Verifies every commit from genesis on (FORMAT §8), reading git alone. Rejects with the code of
   * the first violation.
   */
  async verify(options: VerifyOptions = {}): Promise<VerifyReport> {
    return verifyStore(this.#whole, checkOptions(options))
  }

  /**
   * Verifies a certificate of a redaction against this store: its text, or what `JSON.parse` made
   * of that. Rejects with `invalid_input`, `store_id_mismatch` or `certificate_invalid`. Of what it
   * says, that the object ids and the head before were part of the history is the word of the
   * device that signed it; that none of them is part of it now is checked.
   */
  async verifyCertificate(
    certificate: string | RedactionCertificate,
  ): Promise<RedactionCertificate> {
    const { verifyCertificateHere } = await import('./redaction/certificate-check.ts')
    return verifyCertificateHere(this.#whole, certificate)
  }

  /** The redactions of the history, newest first, as their signed records prove them. */
  async redactions(): Promise<readonly PastRedaction[]> {
    const { listRedactions } = await import('./redaction/past-redactions.ts')
    return listRedactions(this.#whole)
  }

  /**
   * Issues the certificate of a redaction again, named by `PastRedaction.redaction`: as it was, if
   * this device made it, else what the record proves. Rejects with `not_found`.
   */
  async issueCertificate(redaction: string): Promise<IssuedCertificate> {
    checkText(redaction, 'A redaction')
    const { issueCertificate } = await import('./redaction/past-redactions.ts')
    return issueCertificate(this.#whole, redaction)
  }

  /** Searches all that is stored, and the caches, for redacted versions. */
  async findResidue(options: ResidueOptions = {}): Promise<ResidueReport> {
    const { findResidue } = await import('./redaction/residue.ts')
    return findResidue(this.#whole, checkOptions(options))
  }

  /**
   * The versions that may hold a redacted text, newest first, as `findResidue` names them: until
   * they are redacted too.
   */
  async builtOnRedacted(
    options: Pick<WorkOptions, 'signal'> = {},
  ): Promise<readonly BuiltOnRedacted[]> {
    const { listBuiltOnRedacted } = await import('./redaction/built-on.ts')
    return listBuiltOnRedacted(this.#whole, checkOptions(options).signal)
  }

  /**
   * Verifies every commit as `verify` does, and reports who had access, who wrote how much, and
   * which versions were redacted; names
   * no path and holds no content. Rejects with the code of the first violation,
   * and as `verifyCertificate` does for a certificate that the history does not prove.
   */
  async report(options: ReportOptions = {}): Promise<AuditReport> {
    const { reportAsMember } = await import('./report/member-report.ts')
    return reportAsMember(this.#whole, checkReport(options))
  }

  /** @internal The trail of a history that is verified as a whole. */
  async audit(options: WorkOptions = {}): Promise<Audit> {
    const { auditSession } = await import('./report/member-report.ts')
    return auditSession(this.#whole, checkOptions(options))
  }

  /**
   * @internal The records after a position, which are verified already. Reads nothing before it.
   */
  async *auditSince(
    position: TrailPosition | undefined,
    options: Pick<WorkOptions, 'signal'> = {},
  ): AsyncGenerator<TrailStep | 'replaced', void> {
    if (position !== undefined) checkTrailPosition(position)
    const { signal } = checkOptions(options)
    const { newEntries } = await import('./audit/new-entries.ts')
    yield* newEntries(this.#session, position, signal)
  }

  /** Makes everything visible to stock git. `close` does it too. */
  checkpoint(): Promise<void> {
    return this.#session.checkpoint()
  }

  /** @internal Serves the newest head to git, for a client that has asked for these objects. */
  async serve(wants: readonly Oid[]): Promise<ServedStore> {
    const { serveForFetch } = await import('./grants/serve.ts')
    return serveForFetch(this.#whole, wants)
  }

  /** @internal Whether a fetch from a directory that `serve` has given may go on. */
  async stillServes(directory: string): Promise<boolean> {
    const { stillServes } = await import('./grants/serve.ts')
    return stillServes(this.#whole, checkText(directory, 'A directory'))
  }

  /** Makes one pack of everything, each object once. Writers are not blocked. */
  async compact(options: CompactOptions = {}): Promise<CompactReport> {
    const { objects } = this.#session
    const before = objects.status()
    await objects.compact(checkOptions(options))
    return { before, after: objects.status() }
  }

  /**
   * What is stored and no ref reaches: interrupted syncs, lost races, what other programs left.
   * It stays until `git gc --prune=now` runs on the closed store. Reads every commit and tree.
   */
  async unreachable(options: CompactOptions = {}): Promise<ObjectAmount> {
    return this.#session.objects.findUnreachable(checkOptions(options))
  }

  /** Lines for git's `gpg.ssh.allowedSignersFile`, one per epoch. */
  async allowedSigners(): Promise<string> {
    const epochs = await this.#session.reading(() => [...this.#session.epochs.values()])
    return epochs.map((epoch) => allowedSignersLine(epoch.group.publicKey)).join('')
  }
}
