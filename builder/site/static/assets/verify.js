// Checks in the browser: signatures of received documents, with the published keys; receipts; and both in the log.

const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
const toHex = (bytes) => Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Browsers without Ed25519 load an implementation from this site. */
export async function isSigned(bytes, signature, publicKey) {
  try {
    const key = await crypto.subtle.importKey('raw', publicKey, { name: 'Ed25519' }, false, ['verify'])
    return await crypto.subtle.verify('Ed25519', key, signature, bytes)
  } catch (error) {
    if (error.name !== 'NotSupportedError') throw error
    const { verifyAsync } = await import('/assets/vendor/noble-ed25519.js')
    // `zip215: false` checks strictly as in RFC 8032, like the built-in check of browsers.
    return await verifyAsync(signature, new Uint8Array(bytes), publicKey, { zip215: false })
  }
}

const key = 'log-checkpoint'
const store = {
  load: async () => localStorage.getItem(key),
  save: async (note) => localStorage.setItem(key, note),
}

/** Returns null for 404. */
async function read(path) {
  const response = await fetch(path, { cache: 'no-store' })
  if (response.ok) return new Uint8Array(await response.arrayBuffer())
  if (response.status === 404) return null
  throw new Error(`${path} answered ${response.status}`)
}

/** Verifies a proof, a receipt or a document in the log. Sends nothing except the id of a receipt. */
export async function verifyHere(bytes) {
  const { verifyInLog } = await import('/assets/log-subject.js')
  return await verifyInLog(bytes, { read, isSigned, store })
}

/** Returns the signature from the response headers, or from the manifest if a web server sends files without these headers. */
async function signatureOf(path, { headers }) {
  const [signature, kid] = ['x-signature', 'x-signature-key'].map((name) => headers.get(name))
  if (signature) return { signature, kid, from: 'header' }
  const manifest = await fetch('/snapshot.json', { cache: 'no-store' })
  const { documents } = manifest.ok ? await manifest.json() : { documents: [] }
  const entry = documents.find((document) => document.path === path)
  if (entry === undefined) return { signature: '', kid: null, from: 'none' }
  return { signature: `ed25519:${entry.signature}`, kid: entry.kid, from: 'manifest' }
}

/** Checks the signature of a document. `problem` is null if the signature is good. */
async function checkDocument(path) {
  const response = await fetch(path, { cache: 'no-store' })
  if (!response.ok) return { problem: `The request for the document returned ${response.status}.`, facts: [] }
  const bytes = await response.arrayBuffer()
  const { kid, signature, from } = await signatureOf(path, response)
  const facts = [
    ['Bytes', String(bytes.byteLength)],
    ['SHA-256 of the bytes', toHex(await crypto.subtle.digest('SHA-256', bytes))],
    ['Key', kid ?? 'none named'],
  ]
  const [scheme, encoded] = signature.split(':')
  if (scheme !== 'ed25519' || !encoded) return { problem: 'The document has no signature.', facts }
  facts.push([`Signature (${from})`, encoded])
  const { keys } = await (await fetch('/.well-known/signing-keys.json')).json()
  const key = keys.find((candidate) => candidate.kid === kid)
  if (key === undefined) return { problem: 'The key is not among the published keys.', facts }
  facts.push(['Public key', `${key.public_key} (${key.status})`])
  const isGood = await isSigned(bytes, fromBase64(encoded), fromBase64(key.public_key))
  if (!isGood) return { problem: 'The signature does not match these bytes.', facts }
  const { problem, text } = comparePage(JSON.parse(new TextDecoder().decode(bytes)))
  return { problem, facts, good: `The signature is good: these bytes were published by this ledger. ${text}` }
}

/** Compares what this page shows with the members of its document that it names. */
function comparePage(signed) {
  const shown = [...document.querySelectorAll('[data-of]')]
  if (shown.length === 0) return { problem: null, text: 'The text of this page was not compared with the document.' }
  for (const element of shown) {
    const name = element.dataset.of
    const [text, value] = [element.textContent.trim().replaceAll('\u00A0', ' '), signed[name]]
    const isUnknown = value === undefined || signed.unknown_figures?.includes(name)
    const expected = isUnknown ? 'unknown' : value
    if (!isShown(text, expected)) {
      return { problem: `This page shows ${text} for ${name}, but the signed document contains ${expected}.` }
    }
  }
  return { problem: null, text: `The ${shown.length} figures that this page shows from the document match.` }
}

/** Amounts are shown with two or six decimals, shares in percent. */
function isShown(text, value) {
  if (typeof value === 'string') return text === value
  const [, number, decimals = '', unit] = /^([\d,]+(?:\.(\d+))?)( %| USDC)?$/.exec(text) ?? []
  if (number === undefined) return false
  const scale = unit === ' %' ? 100 : 1
  return Math.abs(Number(number.replaceAll(',', '')) - value * scale) <= 0.5001 / 10 ** decimals.length
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

/** Runs `check` and shows its result in `box`. */
async function showCheck(check, box, button) {
  button.disabled = true
  box.replaceChildren()
  if (globalThis.crypto?.subtle === undefined) {
    show(box, 'bad', 'Not checked: the browser provides cryptography only over https. See the guide.', [])
  } else {
    try {
      const { problem, facts, good } = await check()
      if (problem === null) show(box, 'good', good, facts)
      else show(box, 'bad', `NOT GOOD. ${problem}`, facts)
    } catch (error) {
      show(box, 'bad', `Not checked: ${error.message}`, [])
    }
  }
  button.disabled = false
  button.focus()
}

/** Checks the signature of the document at `path`. */
export function showDocumentCheck(path, box, button) {
  return showCheck(() => checkDocument(path), box, button)
}

const signatureFields = ['worker_signature', 'platform_signature', 'signature']
const textBytes = (text) => new TextEncoder().encode(text)

/** Returns the RFC 8785 canonical JSON of strings, numbers and objects of them. */
function canonical(content) {
  if (typeof content !== 'object') return JSON.stringify(content)
  const members = Object.keys(content)
    .sort()
    .map((name) => `${JSON.stringify(name)}:${canonical(content[name])}`)
  return `{${members.join(',')}}`
}

async function checkReceipt(id, isLogged) {
  const response = await fetch(`/api/v1/receipts/${id}`, { cache: 'no-store' })
  if (!response.ok) return { problem: `The request for the receipt returned ${response.status}.`, facts: [] }
  const answer = await response.arrayBuffer()
  const { content } = JSON.parse(new TextDecoder().decode(answer))
  const cleared = Object.entries(content).map(([name, value]) => [name, signatureFields.includes(name) ? '' : value])
  const bytes = textBytes(canonical(Object.fromEntries(cleared)))
  const digest = toHex(await crypto.subtle.digest('SHA-256', bytes))
  const facts = [['SHA-256 of the content', digest]]
  if (`rcp_${digest}` !== id) return { problem: 'The content does not match this id.', facts }
  const isSelfSigned = content.worker_signature !== undefined
  if (isSelfSigned) {
    const plain = (value) => fromBase64(value.replace(/^ed25519:/, ''))
    facts.push(['Signature', content.worker_signature], ['Key of the worker', content.public_key])
    const isGood = await isSigned(bytes, plain(content.worker_signature), plain(content.public_key))
    if (!isGood) return { problem: 'The signature does not match the content alone; it may cover the request that submitted it.', facts }
  } else if (content.platform_signature !== undefined) {
    facts.push(['Signature', `${content.platform_signature} of the platform ${content.platform}, checked by the ledger with the platform’s key`])
  }
  const good = isSelfSigned ? 'Id and signature are good.' : 'The id matches the content.'
  if (!isLogged) {
    return { problem: null, facts, good: `${good} The receipt is not in the log yet.` }
  }
  const checks = await verifyHere(new Uint8Array(answer))
  facts.push(...checks.map(({ what, detail }) => [`Log: ${what}`, detail]))
  return { problem: checks.every((check) => check.good) ? null : 'The proof does not show that the log contains the receipt.', facts, good: `${good} The log contains the receipt.` }
}

/** Checks the id of a receipt, its place in the log and, if the receipt contains its key, its signature. */
export function showReceiptCheck({ verifyReceipt, logged }, box, button) {
  return showCheck(() => checkReceipt(verifyReceipt, logged === 'yes'), box, button)
}
