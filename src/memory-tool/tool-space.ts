// The tree below `/memories`, as the model sees it: one store, or a directory for each of several.
// Finds the store and the store path that a path means. No path may reach two stores, or anything
// that is not mounted.

import { checkNewStorePath, checkStorePath } from '../operations/actions.ts'
import { checkMounts, type Mount, type MountInfo } from './mount.ts'
import { parseToolPath, toolRoot } from './tool-path.ts'

/** A path in its one canonical spelling, as a store and as the model know it. */
export interface Place<Mounted extends MountInfo = Mount> {
  readonly mount: Mounted
  /** The path in the store. */
  readonly path: string
  readonly shown: string
  /** Whether it is what the model sees as the root of the store. */
  readonly isRoot: boolean
}

/** A path of no store: `/memories` itself where it lists them, or an unmounted one. */
export interface Nowhere {
  readonly mount: undefined
  readonly shown: string
  readonly isRoot: boolean
}

/** Of mounts that can be used, or only described. */
export class ToolSpace<Mounted extends MountInfo = Mount> {
  readonly mounts: readonly Mounted[]
  readonly #isOne: boolean

  private constructor(mounts: readonly Mounted[], isOne: boolean) {
    this.mounts = mounts
    this.#isOne = isOne
  }

  /**
   * With `isOne`, the only store is `/memories`; else each is a directory of it, whatever their
   * number. Throws `invalid_input` for stores that cannot be mounted together.
   */
  static of<Mounted extends MountInfo>(
    mounts: readonly Mounted[],
    isOne: boolean,
  ): ToolSpace<Mounted> {
    if (!isOne) checkMounts(mounts)
    return new ToolSpace(mounts, isOne)
  }

  /** Throws a Refusal that names the parameter and echoes the input. */
  parse(parameter: string, input: string): Place<Mounted> | Nowhere {
    return parseToolPath(parameter, input, (below) => this.#find(below, checkStorePath))
  }

  /** Like `parse`, for a memory's new path. */
  parseNew(parameter: string, input: string): Place<Mounted> | Nowhere {
    return parseToolPath(parameter, input, (below) => this.#find(below, checkNewStorePath))
  }

  /** The directory of a store. */
  directoryOf({ name }: MountInfo): string {
    return this.#isOne ? toolRoot : `${toolRoot}/${name}`
  }

  /** How the model knows a path of a store. It never learns what lies outside the root. */
  shown(mount: MountInfo, path: string): string {
    const directory = this.directoryOf(mount)
    const above = mount.root === '/' ? '' : mount.root
    return path.startsWith(`${above}/`) && path !== '/'
      ? directory + path.slice(above.length)
      : directory
  }

  #find(below: string, check: (path: string) => string): Place<Mounted> | Nowhere {
    const [only] = this.mounts
    if (this.#isOne && only !== undefined) return this.#placeIn(only, below, check)
    const [, name = '', ...rest] = below.split('/')
    const mount = this.mounts.find((one) => one.name === name)
    if (mount !== undefined) return this.#placeIn(mount, `/${rest.join('/')}`, check)
    const isRoot = check(below) === '/'
    return { mount: undefined, shown: isRoot ? toolRoot : toolRoot + below, isRoot }
  }

  #placeIn(mount: Mounted, below: string, check: (path: string) => string): Place<Mounted> {
    const isRoot = check(below) === '/'
    const path = mount.root === '/' ? below : check(mount.root + (isRoot ? '' : below))
    return { mount, path, shown: this.shown(mount, path), isRoot }
  }
}
