document.body.textContent = "shipmate";
