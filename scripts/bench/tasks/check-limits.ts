import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { createLimiter } from '../../../src/limits/limiter.ts'
import { createNetworkHash } from '../../../src/limits/network-key.ts'
import { timed } from '../task.ts'

/**
 * Sends one request from each address, then more in mixed order. Returns the memory held at the end and the CPU time of a
 * check.
 */
export async function run(contestant: 'service' | 'map', addresses: number, checks: number) {
  /** 7,919 is prime and no divisor of the number of addresses: every address comes up, far from the one before. */
  const mixed = (at: number) => addressOf((at * 7919) % addresses)
  const before = heldBytes()
  const isAllowed = contestant === 'service' ? serviceLimiter() : bucketMap()
  const firstNs = await nsPerCall(addresses, (at) => isAllowed(addressOf(at)))
  const laterNs = await nsPerCall(checks, (at) => isAllowed(mixed(at)))
  const textNs = await nsPerCall(checks, mixed)
  const heldMb = (heldBytes() - before) / 2 ** 20
  isAllowed(addressOf(0))
  return { heldMb, firstNs: firstNs - textNs, laterNs: laterNs - textNs }
}

/** Counts a public read: by its address for the minute and for the day. */
function serviceLimiter(): (address: string) => boolean {
  const limiter = createLimiter({ now: () => Date.now(), monotonic: () => performance.now() })
  const networkOf = createNetworkHash([0x1234_5678, 0x0abc_def0])
  return (address) => {
    const { host: key } = networkOf(address)
    return limiter.take([
      { policy: 'ip', key },
      { policy: 'day', key },
    ])
  }
}

/** The usual token bucket: 120 at once, 60 more a minute, one object for each address. */
function bucketMap(): (address: string) => boolean {
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  return (address) => {
    const nowMs = performance.now()
    const bucket = buckets.get(address)
    if (bucket === undefined) {
      buckets.set(address, { tokens: 119, atMs: nowMs })
      return true
    }
    bucket.tokens = Math.min(120, bucket.tokens + (nowMs - bucket.atMs) / 1000)
    bucket.atMs = nowMs
    if (bucket.tokens < 1) return false
    bucket.tokens -= 1
    return true
  }
}

function addressOf(at: number): string {
  return `10.${at >>> 16}.${(at >>> 8) & 255}.${at & 255}`
}

function heldBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  if (typeof collect !== 'function') throw new Error('garbage cannot be collected on demand')
  Reflect.apply(collect, undefined, [])
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

async function nsPerCall(count: number, call: (at: number) => unknown): Promise<number> {
  const { cpuMs } = await timed(() => {
    for (let at = 0; at < count; at += 1) call(at)
  })
  return (cpuMs * 1e6) / count
}
