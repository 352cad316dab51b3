/** The file of the package that the module is from. */
export const libsodium: string
/** The package's module, and the names of its exports by those that they have in C. */
export function readLibsodium(): { bytes: Buffer; names: ReadonlyMap<string, string> }
/** libsodium's WebAssembly, reduced to what a store calls. */
export function sodiumModule(): Buffer
/** The module with the exports of `names` alone: for each old name, the new one. */
export function reduceModule(bytes: Buffer, names: Readonly<Record<string, string>>): Buffer
