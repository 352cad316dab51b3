// Histories with grants: who begins and ends them, what their holders write, and what becomes of
// that in a merge (FORMAT §12, §7.4).

import { zeroHash } from '../../src/format/record.ts'
import { type Fault, fields, plainSettings, type ForgedGrantRow } from './forge-fault.ts'
import type { Forge } from './forge.ts'
import {
  change,
  type Clones,
  type Forging,
  fresh,
  inLeft,
  inRight,
  ofB,
  removeDevice,
} from './forged-clones.ts'
import {
  begins,
  byHolder,
  byHolderOf,
  dated,
  DAY,
  ends,
  holder,
  holderOf,
  holderWith,
  notAfter,
  other,
} from './forged-grants.ts'
import { memory, nextRow, version } from './standard-forge.ts'

type Act = (clones: Clones) => unknown

// What both sides have, before they part.
const both = (act: (forge: Forge, clones: Clones) => unknown): Act => {
  return (clones) => {
    act(clones.left, clones)
    Object.assign(clones, { right: clones.left.fork() })
  }
}
const givenByWriter = both((forge, { writer }) => {
  forge.grants([begins(holder)], { author: writer })
})
const givenBySecond = both((forge, { second }) => {
  forge.grants([begins(holder)], { author: second })
})

// What the left side takes.
const ended: Act = ({ left }) => left.grants([ends(holder)])
const granterRemoved: Act = ({ left, writer }) => removeDevice(left, writer)
const granterSilenced: Act = ({ left, writer }) => change(left, writer, { role: 'reader' })
const granterRaised: Act = ({ left, writer }) => change(left, writer, { role: 'writer' })
const onlyOwners: Act = ({ left }) => {
  left.keyring((next) => ({ ...next, givers: 'owners' }), { epoch: left.newEpoch() })
}
const anyone: Act = ({ left }) => {
  left.keyring((next) => ({ ...next, givers: 'owners and writers' }))
}
const secondLowered: Act = ({ left, second }) => change(left, second, { role: 'writer' })
const secondRemoved: Act = ({ left, second }) => removeDevice(left, second)

// What the right side does, without knowing.
const holderWrites: Act = ({ right }) => right.change([inRight], byHolder)
const holderWritesMore: Act = ({ right }) => right.change([fresh], byHolder)
const secondWrites: Act = ({ right, second }) => right.change([ofB], { author: second })
const writerWrites: Act = ({ right, asWriter }) => right.change([ofB], asWriter)
const otherGiven: Act = ({ right, writer }) => right.grants([begins(other)], { author: writer })
const secondEnds: Act = ({ right, second }) => right.grants([ends(holder)], { author: second })

function merged(acts: readonly Act[], fault: (clones: Clones) => Fault = () => ({})): Forging {
  return (clones): Forge => {
    // What both sides have moves the clones, which are the caller's to keep.
    const own = { ...clones }
    for (const act of acts) act(own)
    own.left.merge(own.right, [], fault(own))
    return own.left
  }
}

/** On one line; the left clone alone. */
function line(...acts: readonly Act[]): Forging {
  return (clones): Forge => {
    for (const act of acts) act(clones)
    return clones.left
  }
}

const give =
  (row: ForgedGrantRow, fault?: (clones: Clones) => Fault): Act =>
  (clones) =>
    clones.left.grants([row], fault?.(clones))
const writes =
  (fault: Fault): Act =>
  ({ left }) =>
    left.change([nextRow], fault)
const byWriter = ({ writer }: Clones): Fault => ({ author: writer })
const bySecond = ({ second }: Clones): Fault => ({ author: second })

export type GrantCase = readonly [code: string, name: string, forging: Forging]

export const keptGrants: readonly GrantCase[] = [
  [
    'accepted',
    'a grant of a writer, and what its holder writes',
    line(give(begins(holder), byWriter), writes(byHolder)),
  ],
  [
    'accepted',
    'a change at the last instant of a grant',
    line(
      give(begins(holder)),
      writes({ ...byHolder, ...fields({ sequence: 0, previous: zeroHash, time: notAfter }) }),
    ),
  ],
  ['accepted', 'a grant to read', line(give(begins(holder, { role: 'reader' })))],
  [
    'accepted',
    'an end by the granter',
    line(give(begins(holder), byWriter), give(ends(holder), byWriter)),
  ],
  [
    'accepted',
    'an end by an owner',
    line(give(begins(holder), byWriter), give(ends(holder), bySecond)),
  ],
  [
    'accepted',
    'a grant that has ended, begun again',
    line(give(begins(holder)), give(ends(holder)), give(begins(holder)), writes(byHolder)),
  ],
  [
    'accepted',
    'a grant with the key of a device',
    (clones) => line(give(begins(holderWith(clones.reader.signing))))(clones),
  ],
  [
    'accepted',
    'what a holder writes after another device has begun and ended its key',
    line(
      give(begins(holder), byWriter),
      give(begins(holder), bySecond),
      give(ends(holder), bySecond),
      (clones) => {
        const granter = clones.writer.deviceId
        clones.left.change([nextRow], byHolderOf(granter))
      },
    ),
  ],
  [
    'accepted',
    'a change dated a day before its grant',
    line(give(begins(holder)), ({ left }) => left.change([nextRow], dated(left, -DAY))),
  ],
  [
    'accepted',
    'an end by an owner of what was given again after another end',
    line(give(begins(holder)), give(ends(holder)), give(begins(holder)), give(ends(holder))),
  ],
  [
    'accepted',
    'a grant by a writer where writers may give again',
    line(onlyOwners, anyone, give(begins(holder), byWriter), writes(byHolder)),
  ],
  [
    'accepted',
    'what a holder wrote while another grant ended',
    merged([givenByWriter, otherGiven, ({ left }) => left.change([inLeft]), writerWrites]),
  ],
  [
    'accepted',
    'a merge of what a holder wrote',
    merged([givenByWriter, ({ left }) => left.change([ofB]), holderWrites]),
  ],
  [
    'accepted',
    'a merge by a holder',
    merged([givenByWriter, ({ left }) => left.change([ofB]), holderWrites], () => byHolder),
  ],
  [
    'accepted',
    'a merge of what the holder of an ended grant wrote, and a device has built on',
    merged([givenByWriter, ended, holderWrites, secondWrites]),
  ],
  [
    'accepted',
    'a merge of what the holder of a removed device wrote, and a device has built on',
    merged([givenByWriter, granterRemoved, holderWrites, secondWrites]),
  ],
  [
    'accepted',
    'a merge of what the holder of a lowered owner wrote',
    merged([givenBySecond, secondLowered, holderWrites]),
  ],
  ['accepted', 'two ends apart', merged([givenByWriter, ended, secondEnds])],
  [
    'accepted',
    'one key begun apart by two devices, and a change of its holder',
    line((clones) => {
      merged([
        ({ left }) => left.grants([begins(holder)]),
        ({ right, second }) => right.grants([begins(holder)], { author: second }),
      ])(clones)
    }, writes(byHolder)),
  ],
  [
    'accepted',
    'a merge of an end by an owner of once, by an owner',
    merged([givenByWriter, secondLowered, secondEnds]),
  ],
]

export const refusedGrants: readonly GrantCase[] = [
  [
    'record_role',
    'a grant by a reader',
    line(give(begins(holder), ({ reader }) => ({ author: reader }))),
  ],
  ['record_device', 'a grant by the holder of none', line(give(begins(holder), () => byHolder))],
  [
    'record_role',
    'a grant by the holder of another',
    line(
      give(begins(holder)),
      give(begins(other), () => byHolder),
    ),
  ],
  ['grant_known', 'a grant begun twice', line(give(begins(holder)), give(begins(holder)))],
  ['grant_ended', 'an end of what no device gave', line(give(ends(holder)))],
  [
    'grant_ended',
    'an end by an owner of what a removed device gave',
    line(give(begins(holder), byWriter), granterRemoved, give(ends(holder))),
  ],
  [
    'grant_ended',
    'an end of what was given by a device that was lowered and raised',
    line(give(begins(holder), byWriter), granterSilenced, granterRaised, give(ends(holder))),
  ],
  [
    'record_device',
    'a change by a holder whose granter was lowered and raised',
    line(give(begins(holder), byWriter), granterSilenced, granterRaised, writes(byHolder)),
  ],
  [
    'record_device',
    'a change by a holder of a writer where owners alone may give',
    line(give(begins(holder), byWriter), onlyOwners, writes(byHolder)),
  ],
  [
    'record_role',
    'a grant by a writer where owners alone may give',
    line(onlyOwners, give(begins(holder), byWriter)),
  ],
  [
    'keyring_chain',
    'a keyring that takes the right to give and keeps the epoch',
    line(({ left }) => left.keyring((next) => ({ ...next, givers: 'owners' }))),
  ],
  [
    'grant_time',
    'a change dated more than a day before its grant',
    line(give(begins(holder)), ({ left }) => left.change([nextRow], dated(left, -DAY - 1))),
  ],
  [
    'grant_limit',
    'more grants of a device than there may be',
    line(({ left }) => {
      for (let number = 0; number < 1024; number += 64) {
        left.grants(Array.from({ length: 64 }, (_, index) => begins(holderOf(`${number + index}`))))
      }
      left.grants([begins(holder)])
    }),
  ],
  [
    'record_role',
    'a change by a proposer',
    line(give(begins(holder, { role: 'proposer' })), writes(byHolder)),
  ],
  [
    'record_role',
    'a change by a proposer below that of a device',
    line(give(begins(holder, { role: 'proposer' })), writes(byHolder), ({ left }) =>
      left.change([inLeft]),
    ),
  ],
  [
    'record_role',
    'a merge by a proposer',
    merged(
      [
        both((forge) => forge.grants([begins(holder, { role: 'proposer' })])),
        ({ left }) => left.change([ofB]),
        secondWrites,
      ],
      () => byHolder,
    ),
  ],
  [
    'record_device',
    'a change by a holder whose grant was begun again apart from an end',
    line((clones) => {
      merged([
        givenByWriter,
        ended,
        ({ right, writer }) => right.grants([ends(holder)], { author: writer }),
        ({ right, writer }) => right.grants([begins(holder)], { author: writer }),
      ])(clones)
    }, writes(byHolder)),
  ],
  [
    'grant_foreign',
    'an end by a writer of what the founder gave',
    line(give(begins(holder)), give(ends(holder), byWriter)),
  ],
  [
    'grant_ended',
    'a second end',
    line(give(begins(holder)), give(ends(holder)), give(ends(holder))),
  ],
  [
    'record_device',
    'a change after the end',
    line(give(begins(holder)), give(ends(holder)), writes(byHolder)),
  ],
  [
    'grant_ended',
    'a change later than the grant runs',
    line(give(begins(holder, { notAfter: 1 })), writes(byHolder)),
  ],
  [
    'record_role',
    'a change by the holder of a grant to read',
    line(give(begins(holder, { role: 'reader' })), writes(byHolder)),
  ],
  [
    'record_device',
    'a change after the granter was removed',
    line(give(begins(holder), byWriter), granterRemoved, writes(byHolder)),
  ],
  [
    'record_device',
    'a change after the granter may only read',
    line(give(begins(holder), byWriter), granterSilenced, writes(byHolder)),
  ],
  [
    'record_role',
    'settings by a holder',
    line(give(begins(holder)), ({ left }) =>
      left.settings({ ...plainSettings, name: 'mine' }, byHolder),
    ),
  ],
  [
    'record_role',
    'a redaction by a holder',
    line(give(begins(holder)), ({ left }) => {
      left.redact([[memory.a, version.a1]], byHolder)
      left.rewrite(new Set([version.a1]))
    }),
  ],
  [
    'record_role',
    'a keyring by a holder',
    line(give(begins(holder)), ({ left }) => left.keyring((next) => next, { fault: byHolder })),
  ],
  [
    'record_role',
    'an end by the holder itself',
    line(
      give(begins(holder)),
      give(ends(holder), () => byHolder),
    ),
  ],
  [
    'record_sequence',
    'a change by a holder with a sequence number',
    line(give(begins(holder)), writes({ author: holder })),
  ],
  [
    'record_chain',
    'a change by a holder with a previous record',
    line(
      give(begins(holder)),
      writes({ ...fields({ sequence: 0, previous: new Uint8Array(32).fill(1) }), author: holder }),
    ),
  ],
  [
    'device_signature_invalid',
    'a change by a holder with the key of another',
    line(
      give(begins(holder)),
      give(begins(other)),
      writes({ ...byHolder, author: { ...holder, signing: other.signing } }),
    ),
  ],
  [
    'record_after_revocation',
    'a merge of what a holder wrote while its granter was lowered and raised',
    merged([givenByWriter, granterSilenced, granterRaised, holderWrites]),
  ],
  [
    'record_after_revocation',
    'a merge of what the holder of a writer wrote when owners alone came to give',
    merged([givenByWriter, onlyOwners, holderWrites]),
  ],
  [
    'record_after_revocation',
    'a merge of what the holder of an ended grant wrote',
    merged([givenByWriter, ended, holderWrites]),
  ],
  [
    'record_after_revocation',
    'a merge of what the holder of a grant wrote that its granter ended',
    merged([
      givenByWriter,
      ({ left, writer }) => left.grants([ends(holder)], { author: writer }),
      holderWrites,
    ]),
  ],
  [
    'record_after_revocation',
    'a merge of what the holder of a removed device wrote',
    merged([givenByWriter, granterRemoved, holderWrites]),
  ],
  [
    'record_after_revocation',
    'a merge of what the holder of a device wrote that may only read now',
    merged([givenByWriter, granterSilenced, holderWrites]),
  ],
  [
    'record_after_revocation',
    'a merge of what a holder of a running grant has built on a late change',
    merged([
      givenByWriter,
      both((forge) => forge.grants([begins(other)])),
      ended,
      holderWrites,
      ({ right }) => right.change([ofB], { ...byHolder, author: other }),
    ]),
  ],
  [
    'record_after_revocation',
    'a merge of two changes of a holder of which a device has built on the first',
    merged([givenByWriter, ended, holderWrites, secondWrites, holderWritesMore]),
  ],
  [
    'record_device',
    'a merge by the holder of a grant that one side has ended',
    merged([givenByWriter, ended, secondWrites], () => byHolder),
  ],
  [
    'merge_needs_owner',
    'a merge of an end by an owner of once, by a writer',
    merged([givenByWriter, secondLowered, secondEnds], byWriter),
  ],
  [
    'record_after_revocation',
    'a merge of an end by a removed owner',
    merged([givenByWriter, secondRemoved, secondEnds]),
  ],
  [
    'merge_needs_owner',
    'a merge by a holder of an end by an owner of once',
    merged(
      [givenByWriter, both((forge) => forge.grants([begins(other)])), secondLowered, secondEnds],
      () => ({ ...byHolder, author: other }),
    ),
  ],
]
