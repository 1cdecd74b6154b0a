// Reproduces the work hash of a pact. Plain Node 20 or newer, no dependencies, no network unless you name a URL.
//
//   node reproduce.mjs                          the instance that the ledger serves
//   node reproduce.mjs <file or URL>            any instance, by the specification below
//   node reproduce.mjs <file or URL> <spec>     by another specification, a file or URL too
//
// Prints the hash on the first line. What is to be refused goes to stderr, and the exit code is then 1.
import { readFile } from 'node:fs/promises'

const pact = '@PACT@'
const knownVersions = ['3.0.0']

const [instanceAt = pact.instance_uri, specAt] = process.argv.slice(2)
const refusals = []

async function textAt(place) {
  if (!/^https?:\/\//.test(place)) return await readFile(place, 'utf8')
  const response = await fetch(place, { signal: AbortSignal.timeout(30_000) })
  if (!response.ok) throw new Error(`${place} answered ${response.status}`)
  return await response.text()
}

async function jsonAt(name, place) {
  try {
    return JSON.parse(await textAt(place))
  } catch (error) {
    console.error(`manifest_unreachable: the ${name} cannot be read: ${error.message}`)
    process.exit(1)
  }
}

const isObject = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)

/** Keeps what the specification names, at every level. */
function strip(value, fields, path = '') {
  const kept = {}
  for (const [name, form] of Object.entries(fields)) {
    const place = path === '' ? name : `${path}.${name}`
    if (!Object.hasOwn(value, name)) {
      refusals.push(`missing_field: ${place}`)
    } else if (isObject(form) && isObject(value[name])) {
      kept[name] = strip(value[name], form, place)
    } else {
      kept[name] = value[name]
    }
  }
  return kept
}

/** RFC 8785: sorted members, no white space. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`)
  return `{${members.join(',')}}`
}

/** Keccak-256 as Ethereum has it: lanes of 64 bits as big integers, slow and short. */
function keccak256(bytes) {
  const mask = (1n << 64n) - 1n
  const turn = (lane, by) => ((lane << by) | (lane >> (64n - by))) & mask
  const rate = 136
  const padded = new Uint8Array((Math.floor(bytes.length / rate) + 1) * rate)
  padded.set(bytes)
  padded[bytes.length] = 0x01
  padded[padded.length - 1] |= 0x80
  const words = new DataView(padded.buffer)
  let lanes = Array.from({ length: 25 }, () => 0n)
  for (let block = 0; block < padded.length; block += rate) {
    for (let at = 0; at < rate / 8; at += 1) lanes[at] ^= words.getBigUint64(block + at * 8, true)
    let feedback = 1
    for (let round = 0; round < 24; round += 1) {
      const parity = [0, 1, 2, 3, 4].map(
        (x) => lanes[x] ^ lanes[x + 5] ^ lanes[x + 10] ^ lanes[x + 15] ^ lanes[x + 20],
      )
      lanes = lanes.map((lane, at) => lane ^ parity[(at + 4) % 5] ^ turn(parity[(at + 1) % 5], 1n))
      const moved = [...lanes]
      let [x, y] = [1, 0]
      for (let step = 0; step < 24; step += 1) {
        const by = BigInt((((step + 1) * (step + 2)) / 2) % 64)
        const from = lanes[x + 5 * y]
        ;[x, y] = [y, (2 * x + 3 * y) % 5]
        moved[x + 5 * y] = by === 0n ? from : turn(from, by)
      }
      lanes = moved.map((lane, at) => {
        const row = at - (at % 5)
        return lane ^ (~moved[row + ((at + 1) % 5)] & mask & moved[row + ((at + 2) % 5)])
      })
      // The round constant, bit by bit from its shift register (FIPS 202, section 3.2.5).
      for (let bit = 0; bit < 7; bit += 1) {
        if ((feedback & 1) === 1) lanes[0] ^= 1n << BigInt(2 ** bit - 1)
        feedback = feedback & 0x80 ? ((feedback << 1) ^ 0x171) & 0xff : feedback << 1
      }
    }
  }
  const digest = new DataView(new ArrayBuffer(32))
  for (let at = 0; at < 4; at += 1) digest.setBigUint64(at * 8, lanes[at], true)
  return Buffer.from(digest.buffer).toString('hex')
}

const spec = specAt === undefined ? pact.spec : await jsonAt('specification', specAt)
const instance = await jsonAt('instance', instanceAt)
if (!isObject(spec) || !isObject(spec.fields) || !isObject(instance)) {
  console.error('malformed: specification and instance are objects, and the specification has fields')
  process.exit(1)
}
for (const manifest of [spec, instance]) {
  const { spec_version: version, chain_id: chain, contract_address: contract, pact_id: id } = manifest
  if (version !== undefined && !knownVersions.includes(version)) {
    refusals.push(`unknown_spec_version: ${version}`)
  }
  if (chain !== undefined && chain !== pact.chain_id) refusals.push(`wrong_chain: ${chain}`)
  if (
    contract !== undefined &&
    String(contract).toLowerCase() !== pact.contract_address.toLowerCase()
  ) {
    refusals.push(`wrong_contract: ${contract}`)
  }
  if (id !== undefined && id !== pact.pact_id) refusals.push(`wrong_pact: ${id}`)
}
const text = canonical(strip(instance, spec.fields))
const hash = `0x${keccak256(new TextEncoder().encode(text))}`
const claimed = instance.workhash_claimed_by_publisher
if (claimed !== undefined && claimed !== hash) {
  refusals.push(`hash_divergence: the publisher claims ${claimed}`)
}
console.log(hash)
for (const refusal of new Set(refusals)) console.error(refusal)
process.exitCode = refusals.length === 0 ? 0 : 1
