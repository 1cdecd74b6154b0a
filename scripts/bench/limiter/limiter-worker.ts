/**
 * `<service | map> <addresses> <checks>`: one request from each of so many addresses, then checks of addresses in no order.
 * Prints the memory that is held then beyond the start, and the CPU time of a check.
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { createLimiter } from '../../../src/limits/limiter.ts'
import type { Claim } from '../../../src/limits/limiter.ts'
import { createNetworkHash } from '../../../src/limits/network-key.ts'

const [who = '', ...numbers] = process.argv.slice(2)
const [addresses = 0, checks = 0] = numbers.map(Number)
setFlagsFromString('--expose-gc')
const collect: unknown = runInNewContext('gc')

const before = heldBytes()
const take = who === 'service' ? service() : bucketMap()

const first = process.cpuUsage()
for (let at = 0; at < addresses; at += 1) take(addressOf(at))
const firstNs = cpuNs(first) / addresses

// 7,919 is prime and no divisor of the number of addresses: all come up, far from one another.
const again = process.cpuUsage()
for (let at = 0; at < checks; at += 1) take(addressOf((at * 7919) % addresses))
const againNs = cpuNs(again) / checks

const idle = process.cpuUsage()
for (let at = 0; at < checks; at += 1) addressOf((at * 7919) % addresses)
const textNs = cpuNs(idle) / checks

const heldMb = (heldBytes() - before) / 2 ** 20
// What was measured has to live until here.
const last = take(addressOf(0))
const result = { heldMb, firstNs: firstNs - textNs, againNs: againNs - textNs, last }
process.stdout.write(`${JSON.stringify(result)}\n`)

/** As a public read is counted: by its address for the minute and for the day. */
function service(): (address: string) => boolean {
  const clock = { now: () => Date.now(), monotonic: () => performance.now() }
  const limiter = createLimiter(clock)
  const networkOf = createNetworkHash([0x1234_5678, 0x0abc_def0])
  const claims: Claim[] = [
    { policy: 'ip', key: 0 },
    { policy: 'day', key: 0 },
  ]
  return (address) => {
    const { host: key } = networkOf(address)
    for (const claim of claims) claim.key = key
    return limiter.take(claims)
  }
}

/** The token bucket that everybody writes: 120 at once, 60 more a minute, an object for each address. */
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
  if (typeof collect !== 'function') throw new Error('no garbage collection on demand')
  Reflect.apply(collect, undefined, [])
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function cpuNs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) * 1000
}
