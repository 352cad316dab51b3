// What a request of a long-running agent with a memory needs in addition to model, tools and
// messages: the edits that keep its context small and leave the memory tool alone, the betas that
// they need, and the section of the system prompt. The types are written out here, so that they fit
// every generation of the SDK and need none of them. Sends nothing.

import { StoreError } from '../errors.ts'

export interface AgentDefaultsOptions {
  /**
   * Whether the requests let the model think, as it decides itself; the default is true. The API
   * refuses to clear missing thinking: false for models that cannot, and for requests
   * that say for themselves how the model thinks.
   */
  readonly thinking?: boolean | undefined
  /**
   * How many of the newest turns of the model keep their thinking, at least 1, or `all`, which
   * changes nothing that a prompt cache holds. The default is 1.
   */
  readonly keepThinking?: number | 'all' | undefined
  /** Tokens of a prompt from which the oldest tool results are cleared; the default is 100,000. */
  readonly clearAbove?: number | undefined
  /** How many of the newest uses of tools keep their results; the default is 3. */
  readonly keepToolUses?: number | undefined
  /**
   * Tokens that must go if any do, so that the prompt cache is not lost for little; the default is
   * 10,000.
   */
  readonly clearAtLeast?: number | undefined
  /** Names of tools, in addition to `memory`, whose results are kept. */
  readonly excludeTools?: readonly string[] | undefined
  /**
   * Tokens of a prompt from which the API replaces the conversation by a summary, at least 50,000.
   * The default is never. Excludes the request parameter `compaction`.
   */
  readonly compactAbove?: number | undefined
}

/** Removes the thinking of older turns. Must be the first edit. */
export interface ClearThinkingEdit {
  type: 'clear_thinking_20251015'
  keep: { type: 'thinking_turns'; value: number } | 'all'
}

/** Replaces the oldest results of tools by a placeholder. */
export interface ClearToolUsesEdit {
  type: 'clear_tool_uses_20250919'
  trigger: { type: 'input_tokens'; value: number }
  keep: { type: 'tool_uses'; value: number }
  clear_at_least: { type: 'input_tokens'; value: number }
  exclude_tools: string[]
}

/** Replaces the conversation by a summary. */
export interface CompactEdit {
  type: 'compact_20260112'
  trigger: { type: 'input_tokens'; value: number }
}

export type AgentBeta = 'context-management-2025-06-27' | 'compact-2026-01-12'

/** Fits the parameters of `client.beta.messages`, to be spread into them. */
export interface AgentDefaults {
  betas: AgentBeta[]
  context_management: { edits: (ClearThinkingEdit | ClearToolUsesEdit | CompactEdit)[] }
  system: { type: 'text'; text: string }[]
  thinking?: { type: 'adaptive' }
}

const KEEP_THINKING = 1
const CLEAR_ABOVE = 100_000
const KEEP_TOOL_USES = 3
const CLEAR_AT_LEAST = 10_000
/** The API compacts nothing shorter. */
const COMPACT_ABOVE_MIN = 50_000

/**
 * The defaults of an agent whose system prompt has the section `prompt`, as `memoryPrompt` gives
 * it. Throws `invalid_input`.
 */
export function agentDefaults(prompt: string, options: AgentDefaultsOptions = {}): AgentDefaults {
  const { thinking = true, compactAbove } = options
  const isCompacting = compactAbove !== undefined
  const betas: AgentBeta[] = ['context-management-2025-06-27']
  if (isCompacting) betas.push('compact-2026-01-12')
  return {
    betas,
    context_management: {
      edits: [
        ...(thinking ? [clearThinking(options)] : []),
        clearToolUses(options),
        ...(isCompacting ? [compact(compactAbove)] : []),
      ],
    },
    system: [{ type: 'text', text: prompt }],
    ...(thinking && { thinking: { type: 'adaptive' } }),
  }
}

function clearThinking({ keepThinking = KEEP_THINKING }: AgentDefaultsOptions): ClearThinkingEdit {
  return {
    type: 'clear_thinking_20251015',
    keep:
      keepThinking === 'all'
        ? 'all'
        : { type: 'thinking_turns', value: count('keepThinking', keepThinking, 1) },
  }
}

function clearToolUses({
  clearAbove = CLEAR_ABOVE,
  keepToolUses = KEEP_TOOL_USES,
  clearAtLeast = CLEAR_AT_LEAST,
  excludeTools = [],
}: AgentDefaultsOptions): ClearToolUsesEdit {
  return {
    type: 'clear_tool_uses_20250919',
    trigger: { type: 'input_tokens', value: count('clearAbove', clearAbove, 1) },
    keep: { type: 'tool_uses', value: count('keepToolUses', keepToolUses, 0) },
    clear_at_least: { type: 'input_tokens', value: count('clearAtLeast', clearAtLeast, 1) },
    exclude_tools: [...new Set(['memory', ...excludeTools])],
  }
}

function compact(compactAbove: number): CompactEdit {
  const value = count('compactAbove', compactAbove, COMPACT_ABOVE_MIN)
  return { type: 'compact_20260112', trigger: { type: 'input_tokens', value } }
}

function count(parameter: string, value: number, least: number): number {
  if (Number.isSafeInteger(value) && value >= least) return value
  const message = `${parameter} must be an integer of at least ${least}`
  throw new StoreError('invalid_input', message, { details: { parameter } })
}
