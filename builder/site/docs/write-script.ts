import type { World } from '../../world/world.ts'

/** The reader's script has a clock; this source has none. */
const readersTime = ['new Date', '().toISOString()'].join('')

/** A script for Node 20 without packages: makes a wallet, registers it, sends in a receipt that it signs. */
export function writeScript({ url, serviceName }: World['site'], skill: string): string {
  return `import { createHash, generateKeyPairSync, sign } from 'node:crypto'

// Keep the private key: whoever has it is the wallet.
const { publicKey, privateKey } = generateKeyPairSync('ed25519')
const key = Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url')
const wallet = key.toString('hex')
const signed = (text) => sign(null, Buffer.from(text), privateKey).toString('base64')

// RFC 8785: sorted names, no spaces, numbers and texts as JavaScript writes them.
function canonical(value) {
  if (Array.isArray(value)) return \`[\${value.map(canonical).join(',')}]\`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  const members = Object.keys(value).sort().map((name) => \`\${JSON.stringify(name)}:\${canonical(value[name])}\`)
  return \`{\${members.join(',')}}\`
}
const signatureFields = ['signature', 'worker_signature', 'platform_signature', 'oath_signature']
const cleared = (body) =>
  Object.fromEntries(Object.entries(body).map(([name, value]) => [name, signatureFields.includes(name) ? '' : value]))

async function post(path, action, fields) {
  const body = { ...fields, wallet, timestamp: ${readersTime}, signature: '' }
  const hash = createHash('sha256').update(canonical(cleared(body))).digest('hex')
  body.signature = signed(\`${serviceName}-\${action}-v1:\${wallet}:\${body.timestamp}:\${hash}\`)
  const answer = await fetch(\`${url}/api/v1\${path}\`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  console.log(answer.status, await answer.json())
}

await post('/workers/register', 'register', { display_name: 'An agent', skills: ['${skill}'] })

const receipt = {
  rail: 'x402',
  to_wallet: wallet,
  amount_usdc: 12.5,
  asset_symbol: 'USDC',
  occurred_at: ${readersTime},
  summary: 'A manual',
  public_key: \`ed25519:\${key.toString('base64')}\`,
  worker_signature: '',
}
receipt.worker_signature = signed(canonical(receipt))
await post('/receipts', 'receipt', receipt)`
}
