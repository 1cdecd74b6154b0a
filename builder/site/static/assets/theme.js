// Runs before the page is painted, so that the chosen theme does not flash. Without a choice, the system decides.
try {
  const theme = localStorage.getItem('theme')
  if (theme !== null) document.documentElement.dataset.theme = theme
} catch {
  // Storage may be blocked.
}
