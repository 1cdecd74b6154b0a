import { loadReference } from '../../src/actions/reference.ts'
import type { Reference } from '../../src/actions/reference.ts'

type AuthoredRail = Reference['rails'] extends ReadonlyMap<string, infer Rail> ? Rail : never

/** The authored registries, in which the rail olas accepts forwarded applications. */
export async function referenceWithApply(
  apply: NonNullable<AuthoredRail['apply']>,
): Promise<Reference> {
  const authored = await loadReference('data')
  const olas = authored.rails.get('olas')
  if (olas === undefined) throw new Error('there is no rail olas')
  return { ...authored, rails: new Map(authored.rails).set('olas', { ...olas, apply }) }
}
