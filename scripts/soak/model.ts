// The acknowledged state of one clone, by path, and its unanswered commands. Decides whether the
// state found after a kill is possible.

import type { ToolCommand } from './message.ts'

/** Path → text, or undefined if there is no memory. */
export type Effect = ReadonlyMap<string, string | undefined>

export class Model {
  readonly #texts: Map<string, string> = new Map()
  readonly #pending: Set<Effect> = new Set()

  get texts(): ReadonlyMap<string, string> {
    return this.#texts
  }

  /** Paths that no command under way touches. */
  get idle(): readonly string[] {
    const busy = new Set<string>()
    for (const effect of this.#pending) for (const path of effect.keys()) busy.add(path)
    return [...this.#texts.keys()].filter((path) => !busy.has(path))
  }

  begin(effect: Effect): void {
    this.#pending.add(effect)
  }

  /** The effect was acknowledged. */
  done(effect: Effect): void {
    this.#pending.delete(effect)
    for (const [path, text] of effect) {
      if (text === undefined) this.#texts.delete(path)
      else this.#texts.set(path, text)
    }
  }

  /** The effect was refused, or was only a read. */
  drop(effect: Effect): void {
    this.#pending.delete(effect)
  }

  /**
   * Takes the state of the clone after a kill: each unanswered command is wholly done or not at
   * all. Returns one sentence for each difference.
   */
  settle(found: ReadonlyMap<string, string>, hashOf: (text: string) => string): string[] {
    for (const effect of this.#pending) {
      const isDone = [...effect].every(([path, text]) => {
        return found.get(path) === (text === undefined ? undefined : hashOf(text))
      })
      if (isDone) this.done(effect)
      else this.drop(effect)
    }
    return this.differences(found, hashOf)
  }

  differences(found: ReadonlyMap<string, string>, hashOf: (text: string) => string): string[] {
    const paths = new Set([...this.#texts.keys(), ...found.keys()])
    return [...paths].flatMap((path) => {
      const text = this.#texts.get(path)
      if (found.get(path) === (text === undefined ? undefined : hashOf(text))) return []
      if (!found.has(path)) return `${path} was acknowledged and is missing`
      if (text === undefined) return `${path} was deleted and is back`
      return `${path} is not what was acknowledged last`
    })
  }
}

/** The texts after a command, for the paths that it touches. */
export function effectOf(texts: ReadonlyMap<string, string>, input: ToolCommand): Effect {
  const at = (path: string): string => texts.get(storePath(path)) ?? ''
  switch (input.command) {
    case 'create':
      return new Map([[storePath(input.path), input.file_text]])
    case 'str_replace': {
      const text = at(input.path).replace(input.old_str, () => input.new_str)
      return new Map([[storePath(input.path), text]])
    }
    case 'insert':
      return new Map([[storePath(input.path), `${input.insert_text}${at(input.path)}`]])
    case 'delete':
      return new Map([[storePath(input.path), undefined]])
    case 'rename':
      return new Map([
        [storePath(input.old_path), undefined],
        [storePath(input.new_path), at(input.old_path)],
      ])
    case 'view':
    default:
      return new Map([[storePath(input.path), at(input.path)]])
  }
}

const toolRoot = '/memories'

export function toolPath(path: string): string {
  return `${toolRoot}${path}`
}

function storePath(path: string): string {
  return path.slice(toolRoot.length)
}
