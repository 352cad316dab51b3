// What the model sees below `/memories`: one store, or a directory for each of several. Finds the
// store and the store path that a path means. No path may reach two stores, or anything beside what
// is mounted.

import { checkNewStorePath, checkStorePath } from '../api/schemas.ts'
import type { Mount } from './mount.ts'
import { parseToolPath, toolRoot } from './tool-path.ts'

/** A path in its one canonical spelling, as a store and as the model know it. */
export interface Place {
  readonly mount: Mount
  /** The path in the store. */
  readonly path: string
  readonly shown: string
  /** Whether it is what the model sees as the root of the store. */
  readonly isRoot: boolean
}

/** What belongs to no store: `/memories` itself where it lists them, and what is not mounted. */
export interface Nowhere {
  readonly mount: undefined
  readonly shown: string
  readonly isRoot: boolean
}

export class ToolSpace {
  readonly mounts: readonly Mount[]
  readonly #isOne: boolean

  private constructor(mounts: readonly Mount[], isOne: boolean) {
    this.mounts = mounts
    this.#isOne = isOne
  }

  /** The store is `/memories`. */
  static ofOne(mount: Mount): ToolSpace {
    return new ToolSpace([mount], true)
  }

  /** Each store is a directory of `/memories`, whatever their number. */
  static ofSeveral(mounts: readonly Mount[]): ToolSpace {
    return new ToolSpace(mounts, false)
  }

  /** Throws a Refusal that names the parameter and echoes the input. */
  parse(parameter: string, input: string): Place | Nowhere {
    return parseToolPath(parameter, input, (below) => this.#find(below, checkStorePath))
  }

  /** Like `parse`, for a path that a memory is to get. */
  parseNew(parameter: string, input: string): Place | Nowhere {
    return parseToolPath(parameter, input, (below) => this.#find(below, checkNewStorePath))
  }

  /** How the model knows a path of a store. */
  shown({ name, root }: Mount, path: string): string {
    const directory = this.#isOne ? toolRoot : `${toolRoot}/${name}`
    const below = root === '/' ? path : path.slice(root.length) || '/'
    return below === '/' ? directory : directory + below
  }

  #find(below: string, check: (path: string) => string): Place | Nowhere {
    const [only] = this.mounts
    if (this.#isOne && only !== undefined) return this.#placeIn(only, check(below), check)
    const [, name = '', ...rest] = below.split('/')
    const mount = this.mounts.find((one) => one.name === name)
    if (mount !== undefined) return this.#placeIn(mount, check(`/${rest.join('/')}`), check)
    return {
      mount: undefined,
      shown: toolRoot + check(below).replace(/^\/$/, ''),
      isRoot: below === '/',
    }
  }

  #placeIn(mount: Mount, below: string, check: (path: string) => string): Place {
    const { root } = mount
    const path = root === '/' ? below : check(below === '/' ? root : root + below)
    return { mount, path, shown: this.shown(mount, path), isRoot: below === '/' }
  }
}
