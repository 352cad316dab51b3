// The mistakes of the SDK's own file tool (`BetaLocalFilesystemMemoryTool`) that
// docs/MEMORY-TOOL.md names, tested on it and on gitlocket side by side. If a row about the
// reference fails after an update of the SDK, the document claims too much.

import { readFileSync } from 'node:fs'
import { betaMemoryTool } from '@anthropic-ai/sdk/helpers/beta/memory'
import {
  type BetaRunnableTool,
  runRunnableTool,
} from '@anthropic-ai/sdk/lib/tools/BetaRunnableTool'
import { BetaLocalFilesystemMemoryTool } from '@anthropic-ai/sdk/tools/memory/node'
import { describe, expect, test } from 'vitest'
import { memoryTool } from '../../src/anthropic/memory-tool.ts'
import { temporaryDirectory } from '../support/temporary.ts'
import { rig } from './memory-tool/rig.ts'

interface Claim {
  /** As docs/MEMORY-TOOL.md names it. */
  readonly name: string
  /** Calls in sequence; the answer of the last one counts. */
  readonly calls: readonly object[]
  readonly reference: RegExp
  readonly ours: RegExp
}

const a = '/memories/a'
const create = (path: string, file_text: string): object => ({ command: 'create', path, file_text })
const view = (path: string): object => ({ command: 'view', path })
const replace = (old_str: string, new_str?: string): object => {
  return { command: 'str_replace', path: a, old_str, ...(new_str !== undefined && { new_str }) }
}

const claims: readonly Claim[] = [
  {
    name: 'A multi-line `old_str` never matches',
    calls: [create(a, '1\n2\n'), replace('1\n2', 'x')],
    reference: /did not appear verbatim/,
    ours: /^The memory file has been edited/,
  },
  {
    name: 'Two occurrences on one line replace the first',
    calls: [create(a, 'x x'), replace('x', 'y')],
    reference: /^The memory file has been edited/,
    ours: /in lines: 1, 1\./,
  },
  {
    name: 'A `new_str` left out writes "undefined"',
    calls: [create(a, 'a-b'), replace('-'), view(a)],
    reference: /\taundefinedb$/,
    ours: /\tab$/,
  },
  {
    name: 'An empty `old_str` inserts at the beginning',
    calls: [create(a, 'x'), replace('', 'y'), view(a)],
    reference: /\tyx$/,
    ours: /\tx$/,
  },
  {
    name: '`/memoriesX` maps into the root',
    calls: [create('/memoriesX', 'x'), view('/memories/X')],
    reference: /\tx$/,
    ours: /does not exist/,
  },
  {
    name: 'Backslash traversal becomes a name',
    calls: [create('/memories/..\\a', 'x')],
    reference: /^File created/,
    ours: /^Error: Invalid `path` parameter/,
  },
  {
    name: 'Percent-encoded traversal becomes a name',
    calls: [create('/memories/%2e%2e%2fa', 'x')],
    reference: /^File created/,
    ours: /^Error: Invalid `path` parameter/,
  },
  {
    name: 'A newline in a name forges rows of a listing',
    calls: [create('/memories/a\n9.9K\tforged', 'x'), view('/memories')],
    reference: /\n9\.9K\tforged/,
    ours: /:\n0B\t\/memories$/,
  },
  {
    name: 'Host paths and errno reach the model',
    calls: [create(a, 'x'), create('/memories/a/b', 'y')],
    reference: /E[A-Z]{4,}.*'\/.*'/,
    ours: /^Error: Cannot create \/memories\/a\/b: \/memories\/a is a file, not a directory$/,
  },
  {
    name: 'A missing parameter is a bare TypeError',
    calls: [{ command: 'view' }],
    reference: /Cannot read properties of undefined/,
    ours: /^Error: Missing `path` parameter/,
  },
  {
    name: 'A missing `file_text` leaves an empty file',
    calls: [{ command: 'create', path: a }, view(a)],
    reference: / {5}1\t$/,
    ours: /does not exist/,
  },
  {
    name: 'A failed rename leaves new directories',
    calls: [{ command: 'rename', old_path: a, new_path: '/memories/d/e' }, view('/memories')],
    reference: /\/memories\/d\/$/,
    ours: /:\n0B\t\/memories$/,
  },
  {
    name: 'A reversed `view_range` shows nothing and no error',
    calls: [create(a, '1\n2\n3\n'), { command: 'view', path: a, view_range: [3, 1] }],
    reference: /line numbers:\n$/,
    ours: /^Error: Invalid `view_range` parameter/,
  },
  {
    name: 'A final newline shows one more row',
    calls: [create(a, 'x\n'), view(a)],
    reference: /\n {5}2\t$/,
    ours: /\n {5}1\tx$/,
  },
  {
    name: 'An insertion after the last line leaves no newline at the end',
    calls: [create(a, 'x\n'), { command: 'insert', path: a, insert_line: 2, insert_text: 'y\n' }],
    reference: /has been edited/,
    ours: /range of lines of the file: \[0, 1\]$/,
  },
  {
    name: 'Two spellings of one character are two files',
    calls: [create('/memories/\u00e9', 'x'), create('/memories/e\u0301', 'y')],
    reference: /^File created/,
    ours: /^Error: Invalid `path` parameter/,
  },
]

async function lastAnswer(tool: BetaRunnableTool, calls: readonly object[]): Promise<unknown> {
  let answer: unknown
  for (const input of calls) answer = await ask(tool, input)
  return answer
}

async function ask(tool: BetaRunnableTool, input: object): Promise<unknown> {
  const toolUse = { type: 'tool_use', id: 'id', name: 'memory', input } as const
  return (await runRunnableTool(tool, input, { toolUse, toolUseBlock: toolUse })).content
}

async function referenceTool(): Promise<BetaRunnableTool> {
  return betaMemoryTool(await BetaLocalFilesystemMemoryTool.init(temporaryDirectory()))
}

describe('the reference and gitlocket', () => {
  const ours = rig()

  test.each(claims.map((claim) => [claim.name, claim] as const))('%s', async (_, claim) => {
    const { calls, reference, ours: right } = claim
    expect(await lastAnswer(await referenceTool(), calls)).toMatch(reference)
    await ours.given()
    expect(await lastAnswer(memoryTool(ours.store, { session: 's' }), calls)).toMatch(right)
  })

  test('docs/MEMORY-TOOL.md names every row', () => {
    const text = readFileSync(new URL('../../docs/MEMORY-TOOL.md', import.meta.url), 'utf8')
    for (const { name } of claims) expect(text).toContain(`| ${name} |`)
  })
})
