// `store.history`: questions about the past, those before a redaction included. Changes nothing.

import type { WorkOptions } from '../async.ts'
import { HistoryReader } from './history-reader.ts'
import type { RedactionPlan, RedactionRequest } from './redaction/redaction-plan.ts'
import { checkOptions, checkRedaction } from './request-check.ts'
import type { StoreSession } from './session/session.ts'

export class StoreHistory extends HistoryReader {
  readonly #session: StoreSession

  /** @internal */
  constructor(session: StoreSession) {
    super(session)
    this.#session = session
  }

  /** What `redact` would erase, and what stands in its way. */
  async planRedaction(
    request: RedactionRequest,
    options: WorkOptions = {},
  ): Promise<RedactionPlan> {
    const { planRedaction } = await import('./redaction/redaction.ts')
    return planRedaction(this.#session, checkRedaction(request), checkOptions(options))
  }
}
