// Judges the lines of a form in this browser, with the code that the ledger uses. Nothing is sent.
for (const form of document.querySelectorAll('form.try')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const output = form.querySelector('output')
    try {
      const { tryRules, tryReputation } = await import('/assets/rules.js')
      const judge = form.dataset.rules === 'rules' ? tryRules : tryReputation
      const results = [...judge(form.elements.lines.value.split('\n'))]
      output.textContent = results.map((result) => JSON.stringify(result, null, 2)).join('\n')
    } catch (error) {
      output.textContent = error.message
    }
  })
}
