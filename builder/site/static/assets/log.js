// Answers the form of /verify.
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
      const { verifyHere } = await import('/assets/verify.js')
      const chosen = file.files[0]
      // A text field normalises line endings, so an unchanged file is read itself.
      const bytes = chosen === undefined || (await chosen.text()) !== text.value ? new TextEncoder().encode(text.value) : new Uint8Array(await chosen.arrayBuffer())
      const checks = await verifyHere(bytes)
      const lines = checks.map(({ good, what, detail }) => `${good ? 'good' : 'BAD '}  ${what}: ${detail}`)
      const isGood = checks.every(({ good }) => good)
      output.textContent = [...lines, isGood ? 'All checks passed.' : 'NOT GOOD.'].join('\n')
    } catch (error) {
      output.textContent = `Not checked: ${error.message}`
    }
  })
}
