// Checks the signature of a document in the reader's browser: the bytes as received, with the published key.

const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
const toHex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Whether the signature is the key's over these bytes. Browsers without Ed25519 get it from a file of this site. */
async function isSigned(bytes, signature, publicKey) {
  try {
    const key = await crypto.subtle.importKey('raw', publicKey, { name: 'Ed25519' }, false, ['verify'])
    return await crypto.subtle.verify('Ed25519', key, signature, bytes)
  } catch (error) {
    if (error.name !== 'NotSupportedError') throw error
    const { verifyAsync } = await import('/assets/vendor/noble-ed25519.js')
    // Strict, as RFC 8032 has it and the browsers' own check is.
    return await verifyAsync(signature, new Uint8Array(bytes), publicKey, { zip215: false })
  }
}

/** The signature of an answer: in its headers, or in the manifest where a web server sends the file as it lies there. */
async function sealOf(path, { headers }) {
  const [signature, kid] = ['x-signature', 'x-signature-key'].map((name) => headers.get(name))
  if (signature) return { signature, kid, from: 'header' }
  const manifest = await fetch('/snapshot.json', { cache: 'no-store' })
  const { documents } = manifest.ok ? await manifest.json() : { documents: [] }
  const entry = documents.find((document) => document.path === path)
  if (entry === undefined) return { signature: '', kid: null, from: 'none' }
  return { signature: `ed25519:${entry.signature}`, kid: entry.kid, from: 'manifest' }
}

/** What a check found. `problem` is null where all is well. */
async function check(path) {
  const answer = await fetch(path, { cache: 'no-store' })
  if (!answer.ok) return { problem: `The document answered ${answer.status}.`, facts: [] }
  const bytes = await answer.arrayBuffer()
  const { kid, signature, from } = await sealOf(path, answer)
  const facts = [
    ['Bytes', String(bytes.byteLength)],
    ['SHA-256 of the bytes', toHex(await crypto.subtle.digest('SHA-256', bytes))],
    ['Key', kid ?? 'none named'],
  ]
  const [scheme, encoded] = signature.split(':')
  if (scheme !== 'ed25519' || !encoded) return { problem: 'The document carries no signature.', facts }
  facts.push([`Signature (${from})`, encoded])
  const { keys } = await (await fetch('/.well-known/signing-keys.json')).json()
  const key = keys.find((candidate) => candidate.kid === kid)
  if (key === undefined) return { problem: 'The key is not one of the published ones.', facts }
  facts.push(['Public key', `${key.public_key} (${key.status})`])
  const good = await isSigned(bytes, fromBase64(encoded), fromBase64(key.public_key))
  return { problem: good ? null : 'The signature does not match these bytes.', facts }
}

function show(box, result, title, facts) {
  box.dataset.result = result
  const strong = document.createElement('strong')
  strong.textContent = title
  const list = document.createElement('dl')
  for (const [term, value] of facts) {
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')]
    dt.textContent = term
    dd.textContent = value
    list.append(dt, dd)
  }
  box.replaceChildren(strong, list)
}

/** Checks the document at `path` and shows bytes, hash, key and result in `box`. */
export async function showCheck(path, box, button) {
  button.disabled = true
  box.replaceChildren()
  if (globalThis.crypto?.subtle === undefined) {
    show(box, 'bad', 'Not checked: browsers offer their cryptography over https only. Use the guide.', [])
  } else {
    try {
      const { problem, facts } = await check(path)
      if (problem === null) show(box, 'good', 'The signature is good: these bytes were published by this ledger.', facts)
      else show(box, 'bad', `NOT GOOD. ${problem}`, facts)
    } catch (error) {
      show(box, 'bad', `Not checked: ${error.message}`, [])
    }
  }
  button.disabled = false
  button.focus()
}

const signatureFields = ['worker_signature', 'platform_signature', 'signature']
const textBytes = (text) => new TextEncoder().encode(text)

/** RFC 8785 of an object of texts and numbers: sorted names, values as JavaScript writes them. */
function canonical(content) {
  const members = Object.keys(content)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${JSON.stringify(content[name])}`)
  return `{${members.join(',')}}`
}

async function checkReceipt(id, content) {
  const cleared = Object.entries(content).map(([name, value]) => [name, signatureFields.includes(name) ? '' : value])
  const bytes = textBytes(canonical(Object.fromEntries(cleared)))
  const digest = toHex(await crypto.subtle.digest('SHA-256', bytes))
  const facts = [['SHA-256 of the content', digest]]
  if (`rcp_${digest}` !== id) return { problem: 'The content is not that of this id.', facts }
  if (content.worker_signature === undefined) {
    facts.push(['Signature', `${content.platform_signature} of the platform ${content.platform}, checked by the ledger with the key that the platform gave it`])
    return { problem: null, facts }
  }
  const plain = (value) => fromBase64(value.replace(/^ed25519:/, ''))
  facts.push(['Signature', content.worker_signature], ['Key of the worker', content.public_key])
  const good = await isSigned(bytes, plain(content.worker_signature), plain(content.public_key))
  return { problem: good ? null : 'The signature does not match the content alone; it may cover the request that brought it.', facts }
}

/** Checks the id of a receipt and, where the key stands in it, its signature. */
export async function showReceiptCheck(id, content, box, button) {
  button.disabled = true
  try {
    const { problem, facts } = await checkReceipt(id, content)
    const good = content.worker_signature === undefined ? 'The id is that of the content.' : 'Id and signature are good.'
    if (problem === null) show(box, 'good', good, facts)
    else show(box, 'bad', `NOT GOOD. ${problem}`, facts)
  } catch (error) {
    show(box, 'bad', `Not checked: ${error.message}`, [])
  }
  button.disabled = false
  button.focus()
}
