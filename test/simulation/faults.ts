import type { Fault, FaultKind, Stage } from './machine.ts'
import type { Chance } from './random.ts'

/** Draws a fault of a disk or the death of a process at a later operation. */
export function faultOf(chance: Chance): Fault {
  const kind = chance.weighted<FaultKind>({
    busy: 3,
    full: 2,
    'full, undone': 2,
    interrupted: 2,
    refused: 3,
    failed: 2,
    'failed, but done': 3,
    'died before': 4,
    'died after': 5,
  })
  const stage = chance.weighted<Stage | 'any'>({
    any: 4,
    commit: 5,
    write: 3,
    begin: 1,
    savepoint: 1,
    read: 1,
    rollback: 0.3,
  })
  const process = chance.happens(0.8) ? 'service' : 'builder'
  return { kind, stage: kind === 'busy' ? 'begin' : stage, process, skip: chance.below(6) }
}
