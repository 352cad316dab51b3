// The next command of an agent: all commands of the memory tool, on texts whose sizes are
// log-normal, from a few bytes up to the limit.

import { revisionLine } from '../bench/workload.ts'
import type { ToolCommand } from './message.ts'
import { type Model, toolPath } from './model.ts'

const memoriesMax = 2000
const textBytesMax = 100_000
const medianBytes = 1500
const spread = 1.3
/** Views look at a file, and now and then at a directory. */
const weights: readonly (readonly [ToolCommand['command'], number])[] = [
  ['view', 25],
  ['create', 20],
  ['str_replace', 35],
  ['insert', 8],
  ['delete', 6],
  ['rename', 6],
]

export class Workload {
  readonly #choose: (bound: number) => number
  readonly #directory: string
  #made = 0

  /** `directory` belongs to this clone alone, such as `/a`. */
  constructor(choose: (bound: number) => number, directory: string) {
    this.#choose = choose
    this.#directory = directory
  }

  /** The next command, on a memory that no unanswered command touches. */
  next(model: Model): ToolCommand {
    const { idle, texts } = model
    const path = idle[this.#choose(Math.max(idle.length, 1))]
    const command = this.#kind()
    if (path === undefined || (command === 'create' && texts.size < memoriesMax)) {
      return { command: 'create', path: toolPath(this.#newPath()), file_text: this.#text() }
    }
    const text = texts.get(path) ?? ''
    const isLong = text.length > textBytesMax - 100
    switch (command) {
      case 'str_replace':
        return this.#replace(path, text)
      case 'insert':
        if (isLong) return this.#replace(path, text)
        return {
          command,
          path: toolPath(path),
          insert_line: 0,
          insert_text: `note ${this.#made}\n`,
        }
      case 'create':
      case 'delete':
        return { command: 'delete', path: toolPath(path) }
      case 'rename':
        return { command, old_path: toolPath(path), new_path: toolPath(this.#newPath()) }
      case 'view':
      default:
        return { command: 'view', path: toolPath(this.#choose(10) === 0 ? '' : path) }
    }
  }

  /** A log-normal size: the sum of twelve uniform numbers is close enough to normal. */
  #size(): number {
    let sum = -6
    for (let count = 0; count < 12; count += 1) sum += this.#choose(1e6) / 1e6
    return Math.min(textBytesMax, Math.round(medianBytes * Math.exp(spread * sum)))
  }

  #replace(path: string, text: string): ToolCommand {
    const from = /revision \d{8}/.exec(text)?.[0] ?? ''
    const revision = Number(from.slice('revision '.length)) + 1
    const [old_str, new_str] = [from, revisionLine(revision)]
    return { command: 'str_replace', path: toolPath(path), old_str, new_str }
  }

  #kind(): ToolCommand['command'] {
    let at = this.#choose(weights.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [command, weight] of weights) {
      at -= weight
      if (at < 0) return command
    }
    return 'view'
  }

  #newPath(): string {
    this.#made += 1
    return `${this.#directory}/${this.#made % 50}/${this.#made}.md`
  }

  #text(): string {
    this.#made += 1
    const line = `remark ${this.#made} of the ${this.#directory} side, as long as a line is\n`
    const size = this.#size()
    return `${revisionLine(0)}\n${line.repeat(Math.ceil(size / line.length))}`.slice(0, size + 18)
  }
}
