// Verifies a proof, a receipt or a document in the log. Sends nothing except the id of a receipt.
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

for (const form of document.querySelectorAll('form[data-verify="log"]')) {
  const { file, text } = form.elements
  file.addEventListener('change', async () => {
    text.value = file.files.length === 0 ? '' : await file.files[0].text()
  })
  form.addEventListener('dragover', (event) => event.preventDefault())
  form.addEventListener('drop', (event) => {
    if (event.dataTransfer.files.length === 0) return
    event.preventDefault()
    file.files = event.dataTransfer.files
    file.dispatchEvent(new Event('change'))
  })
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const output = form.querySelector('output')
    output.textContent = ''
    try {
      if (globalThis.crypto?.subtle === undefined) {
        throw new Error('the browser provides cryptography only over https; use the commands below')
      }
      const [{ verifyInLog }, { isSigned }] = await Promise.all([
        import('/assets/log-subject.js'),
        import('/assets/verify.js'),
      ])
      const chosen = file.files[0]
      // A text field normalises line endings, so an unchanged file is read itself.
      const bytes = chosen === undefined || (await chosen.text()) !== text.value ? new TextEncoder().encode(text.value) : new Uint8Array(await chosen.arrayBuffer())
      const checks = await verifyInLog(bytes, { read, isSigned, store })
      const lines = checks.map(({ good, what, detail }) => `${good ? 'good' : 'BAD '}  ${what}: ${detail}`)
      const isGood = checks.every(({ good }) => good)
      output.textContent = [...lines, isGood ? 'All checks passed.' : 'NOT GOOD.'].join('\n')
    } catch (error) {
      output.textContent = `Not checked: ${error.message}`
    }
  })
}
