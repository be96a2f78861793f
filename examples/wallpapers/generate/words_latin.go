package main

var latinLanguages = []language{
	{
		"en",
		[]string{"Mountain lake", "Empty road", "Red fox", "Old lighthouse", "Desert dunes", "Space station", "City skyline", "Pine forest", "Sleeping cat", "Koi pond", "Low-poly hills", "Abandoned greenhouse"},
		[]string{" ", ", ", " – "},
		[]string{"at dawn", "in the rain", "under the Milky Way", "in deep winter", "after the storm", "seen from above", "in black and white", "at golden hour"},
		[]string{
			"Shot from the car park, of all places.", "The fog lifted for about two minutes.", "Colour graded by hand, no filters.",
			"Rendered overnight; the noise is on purpose.", "Leaves plenty of room for icons on the left.",
			"Third in a series of twelve, one for each month.", "Works best on a dark desktop.", "Stitched from nine frames.",
			"Feel free to crop it.", "I waited four hours for this light, and it was worth it.",
		},
	},
	{
		"de",
		[]string{"Leuchtturm", "Waldweg", "Bergsee", "Alte Mühle", "Nordseestrand", "Dachboden", "Straßenbahn"},
		[]string{" ", ", "},
		[]string{"im Morgennebel", "bei Regen", "im Spätherbst", "unter Sternen", "im Gegenlicht", "nach dem Schnee"},
		[]string{
			"Aufgenommen kurz vor Sonnenaufgang.", "Die Farben sind so, wie sie waren.", "Gefällt mir am besten auf einem großen Bildschirm.",
			"Belichtung: dreißig Sekunden, Stativ, kein Wind.", "Darf frei verwendet werden, über eine Nachricht freue ich mich.",
		},
	},
	{
		"fr",
		[]string{"Vieux port", "Champ de lavande", "Ruelle pavée", "Phare", "Forêt de hêtres", "Café désert"},
		[]string{" ", ", "},
		[]string{"à l'aube", "sous la pluie", "en hiver", "vu du ciel", "à l'heure bleue"},
		[]string{
			"Photo prise au téléobjectif, sans retouche.", "Il faisait très froid ce matin-là.", "L'image laisse de la place à gauche pour les icônes.",
			"Une série commencée il y a dix ans déjà.", "N'hésitez pas à demander un autre format.",
		},
	},
	{
		"es",
		[]string{"Faro", "Calle mojada", "Dunas", "Volcán dormido", "Patio con naranjos", "Tren nocturno"},
		[]string{" ", ", "},
		[]string{"al amanecer", "bajo la lluvia", "en otoño", "desde el aire", "con luna llena"},
		[]string{
			"Tomada con el móvil y un poco de suerte.", "¡Mejor en pantalla grande!", "Los colores son naturales.",
			"Primera foto de una serie de doce.", "Si quieres la versión vertical, avísame.",
		},
	},
	{
		"pt",
		[]string{"Praia vazia", "Bonde amarelo", "Floresta de araucárias", "Farol", "Azulejos"},
		[]string{" ", ", "},
		[]string{"ao amanhecer", "na chuva", "no inverno", "visto de cima"},
		[]string{"Não usei nenhum filtro.", "A neblina durou poucos minutos.", "Combina com ícones claros.", "Versão para celular em breve."},
	},
	{
		"it",
		[]string{"Vecchio molo", "Colline toscane", "Gatto sul davanzale", "Lago alpino"},
		[]string{" ", ", "},
		[]string{"all'alba", "sotto la neve", "in bianco e nero", "dopo il temporale"},
		[]string{"Scattata dal finestrino del treno.", "La luce era così, davvero.", "Adatta a due schermi.", "È la mia preferita della serie."},
	},
	{
		"pl",
		[]string{"Latarnia morska", "Górskie jezioro", "Pusta ulica", "Łąka"},
		[]string{" ", ", "},
		[]string{"o świcie", "w deszczu", "zimą", "po burzy"},
		[]string{"Zdjęcie z długim czasem naświetlania.", "Kolory bez żadnych filtrów.", "Świetnie wygląda na ciemnym pulpicie.", "Część większej serii."},
	},
	{
		"tr",
		[]string{"Eski iskele", "Dağ gölü", "Boş sokak", "Işıklı köprü"},
		[]string{" ", ", "},
		[]string{"şafakta", "yağmurda", "kışın", "gün batımında"},
		[]string{"Uzun pozlama ile çekildi.", "Renkler doğaldır, süzgeç yok.", "Çift ekranda güzel duruyor.", "İstediğiniz gibi kırpabilirsiniz."},
	},
	{
		"vi",
		[]string{"Hồ trên núi", "Phố cổ", "Ruộng bậc thang", "Ngọn hải đăng"},
		[]string{" ", ", "},
		[]string{"lúc bình minh", "trong mưa", "mùa thu", "nhìn từ trên cao"},
		[]string{"Ảnh chụp bằng điện thoại.", "Màu sắc tự nhiên, không chỉnh sửa.", "Hợp với màn hình lớn.", "Cứ thoải mái sử dụng nhé."},
	},
	{
		"sw",
		[]string{"Ziwa la mlimani", "Pwani tupu", "Mbuyu mkubwa"},
		[]string{" ", ", "},
		[]string{"alfajiri", "wakati wa mvua", "chini ya nyota"},
		[]string{"Picha hii haina vichujio.", "Inapendeza kwenye skrini kubwa.", "Nilisubiri mwanga huu kwa saa nne."},
	},
}
