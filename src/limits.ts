// Every bound of the product. Bounds of the format (FORMAT) bind every reader; the others bind
// writers. The comment of a bound that is the default of a store setting names the setting.

export const KIBIBYTE: number = 1024
export const MEBIBYTE: number = 1024 * KIBIBYTE

/** FORMAT §5: a verifier refuses larger memories, whatever the store's setting. */
export const contentBytesFormatMax: number = 16 * MEBIBYTE
/** Default of the store setting `contentBytes` (Memory Stores API: 102,400 bytes). */
export const contentBytesDefault: number = 102_400
/** Default of the store setting `memories`. */
export const memoriesDefault: number = 10_000
export const memoriesMax: number = 1_000_000

/** The last instant that a JavaScript Date can hold, in ms since 1970. */
export const timeMax: number = 8.64e15

export const pathBytesMax: number = 1024
export const pathSegmentsMax: number = 20
export const noteBytesMax: number = 4096
/** FORMAT §1: actor and session ids. */
export const actorIdLengthMax: number = 64

/** FORMAT §6.1. */
export const rowsMax: number = 16_384
/** FORMAT §12, in one record. */
export const grantRowsMax: number = 64
/** FORMAT §12: the wraps in one blob, random ones included. */
export const wrapsMax: number = 1024
/** How long a grant lasts, in ms. */
export const grantMsDefault: number = 8 * 3_600_000
export const grantMsMin: number = 60_000
export const grantMsMax: number = 90 * 86_400_000
export const grantLabelCharactersMax: number = 64
/** A blob of wraps has 608 bytes for each, and a header. */
export const wrapsBytesMax: number = MEBIBYTE
/** FORMAT §13. */
export const startBytesMax: number = 64 * MEBIBYTE
/** How many commits a clone that began with a start fetches at most, to go on from there. */
export const historyDepthMax: number = 20_000
export const commitBytesMax: number = 32 * MEBIBYTE
/** FORMAT §7. */
export const keyringBytesMax: number = 4 * MEBIBYTE
/** 250 devices and 64 recovery keys have 512 slots, to which 4 passphrases are added. */
export const keyringSlotsMax: number = 513
/** Active ones. */
export const devicesMax: number = 250
export const removedDevicesMax: number = 16_384
/** The default of a new store; FORMAT §7 allows up to `devicesMax`. */
export const quotaDefault: number = 32
export const recoveryKeysMax: number = 64
/** FORMAT §1.5. */
export const deviceNameCharactersMax: number = 64
export const deviceNameBytesMax: number = 256
export const passphrasesMax: number = 1
/** FORMAT §4: a settings blob, padded. */
export const settingsBytesMax: number = 64 * KIBIBYTE

export const storeNameCharactersMax: number = 255
export const storeDescriptionCharactersMax: number = 1024
export const metadataPairsMax: number = 16
/** The pairs that gitlocket itself keeps in the metadata. */
export const ownPairsMax: number = 64
export const metadataKeyCharactersMax: number = 64
export const metadataValueCharactersMax: number = 512

interface Bounds {
  readonly floor: number
  readonly standard: number
  readonly ceiling: number
}

/** FORMAT §7.5: Argon2id. Outside floor and ceiling a slot is refused before it is hashed. */
export const argon2: { readonly passes: Bounds; readonly memoryKiB: Bounds } = {
  passes: { floor: 2, standard: 3, ceiling: 10 },
  memoryKiB: { floor: 64 * KIBIBYTE, standard: 256 * KIBIBYTE, ceiling: 1024 * KIBIBYTE },
}
export interface StretchParameters {
  readonly passes: number
  readonly memoryKiB: number
}
/** Of every new passphrase. */
export const standardStretch: StretchParameters = {
  passes: argon2.passes.standard,
  memoryKiB: argon2.memoryKiB.standard,
}
export const passphraseCharactersMin: number = 8

/** A journal is preallocated in steps that grow with it between these bounds. */
export const journalStepBytesMin: number = 64 * KIBIBYTE
export const journalStepBytesMax: number = MEBIBYTE
/**
 * A journal that exceeds either is packed in the background. A process that writes continuously
 * holds that much in RAM; holding twice as much gave no more writes per second.
 */
export const journalPackBytes: number = 2 * MEBIBYTE
export const journalPackFrames: number = 512
/** Packs are merged without a quiet moment once this many were added since the last attempt. */
export const packsMergeAfter: number = 16
/**
 * Writers wait for packing once the journal reaches the first size, and stop at the second.
 */
export const journalWaitBytes: number = 16 * MEBIBYTE
export const journalBytesMax: number = 64 * MEBIBYTE
/** The objects of a larger transition go into a pack, and only its ref move into the journal. */
export const journalTransitionBytesMax: number = 8 * MEBIBYTE
/** A file that is read whole: a cache of a million memories is smaller. */
export const fileBytesMax: number = 1024 * MEBIBYTE
/** A file of lines: HEAD, a ref, packed refs, a configuration, a lock. */
export const lineFileBytesMax: number = 16 * MEBIBYTE
/** A larger journal file was not made by this engine. */
export const journalFileBytesMax: number = 4 * journalBytesMax
/** A git object of a store is smaller; larger ones are refused before they are inflated. */
export const objectBytesMax: number = 64 * MEBIBYTE
/** A reader of packs refuses longer delta chains; git makes none longer than 4,095. */
export const deltaChainMax: number = 4096
/** The most bytes inflated and copied to read one delta: sixteen keyrings of the largest size. */
export const deltaChainBytesMax: number = 64 * MEBIBYTE
/** A larger pack from a remote is refused while it is received. */
export const packBytesMax: number = 16 * 1024 * MEBIBYTE
/** The most commits without their parents that a clone without history has, or a remote names. */
export const boundaryCommitsMax = 4096
/** Of the refs of grants that a remote lists, as many of each kind are kept (FORMAT §13). */
export const listedRefsMax = 1024
/** The most refs of grants that one push may change. */
export const grantRefsMax = 4096
/** More than any store of this engine can index. */
export const packObjectsMax: number = 2 ** 24
/** Checking a pack from a remote, and reading it, may take this many times its bytes of work. */
export const packWorkMax: number = 256
/** However small a pack is, it may take that much: its largest object has to be allowed. */
export const packWorkBytesMin: number = 256 * MEBIBYTE
/**
 * The bytes of a received pack that are kept in RAM while it is verified, where `hashedFreeBytes`
 * of memory are free; in proportion less where there is less.
 */
export const hashedBytesMax: Readonly<Record<'commit' | 'tree' | 'blob', number>> = {
  commit: 160 * MEBIBYTE,
  tree: 96 * MEBIBYTE,
  blob: 128 * MEBIBYTE,
}
export const hashedFreeBytes: number = 8 * 1024 * MEBIBYTE
/** A pack with more objects is read from its file: the columns alone take forty bytes for each. */
export const hashedObjectsMax: number = 2 ** 20
/** Trees that an open store keeps to apply deltas to. */
export const deltaCacheBytes: number = 16 * MEBIBYTE
/** The index of a pack is kept in RAM up to this size: seventy thousand objects. */
export const packIndexBytesMax: number = 2 * MEBIBYTE
/** The list of a server's stores, and its credentials: each change writes all of it. */
export const sealedFileBytesMax: number = 64 * MEBIBYTE
/** A larger certificate of a redaction is not read: five million objects. */
export const certificateBytesMax: number = 256 * MEBIBYTE
/** The signature of a larger report is not verified: some million lines. */
export const reportBytesMax: number = 256 * MEBIBYTE
/** How long a writer waits for another by default. */
export const lockWaitMsDefault: number = 30_000
/** How long an erasure waits at least for a process that packs; a repack takes a minute. */
export const purgeWaitMs: number = 300_000

/** The memory tool refuses to show a file with more lines. */
export const viewLinesMax: number = 999_999

/** Memory Stores API §9. */
export const sessionStoresMax: number = 8
export const sessionInstructionsCharactersMax: number = 4096
/** The default of a session without a lifetime of its own. */
export const sessionSecondsDefault: number = 3600
