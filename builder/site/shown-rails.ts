import type { Rail } from '../../src/contract/schemas/rail.ts'
import { railView } from '../documents/rail-view.ts'
import type { RailRecord, World } from '../world/world.ts'

/** A rail with its public view, shared by all pages of a build. */
export interface ShownRail {
  readonly record: RailRecord
  readonly view: Rail
}

/** The parts of the world that `shownRails` reads. */
export const railParts = ['nowMs', 'pollEveryMs', 'rails'] as const

export function shownRails(world: Pick<World, (typeof railParts)[number]>): ShownRail[] {
  return world.rails.map((record) => ({ record, view: railView(record, world) }))
}
